//! The page that the browser shows at the end. It has no scripts, loads nothing, and sends no referrer, because its address
//! contains the authorization code.

use std::fmt::Write;

use proxy_base::foreign_text::visible;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    LoggedIn,
    Failed,
    /// The request does not belong to the login, which continues.
    Refused,
}

pub(crate) struct ResultPage {
    pub(crate) verdict: Verdict,
    /// May quote the server or the authorization server.
    pub(crate) text: String,
}

impl ResultPage {
    /// The whole HTTP response.
    pub(crate) fn response(&self) -> String {
        let (status, title, advice) = match self.verdict {
            Verdict::LoggedIn => ("200 OK", "You are logged in", "You can close this window."),
            Verdict::Failed => {
                ("400 Bad Request", "Login failed", "You can close this window. See the terminal for details.")
            }
            Verdict::Refused => {
                ("400 Bad Request", "This response belongs to another login", "You can close this window.")
            }
        };
        let text = escaped(&self.text);
        let body = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
             <body><h1>{title}</h1>\n<p>{text}</p>\n<p>{advice}</p></body>\n</html>\n"
        );
        let mut response = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", &body.len().to_string()),
            (
                "Content-Security-Policy",
                "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ] {
            let _ = write!(response, "{name}: {value}\r\n");
        }
        response + "\r\n" + &body
    }
}

/// Untrusted text as HTML: without tags and invisible characters.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in visible(text).chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_text_on_the_page() {
        let page = ResultPage { verdict: Verdict::Failed, text: "<script>alert('1')</script> & \u{202e}\"".to_owned() };
        let response = page.response();
        assert!(!response.contains("<script") && !response.contains('\u{202e}'), "{response}");
        assert!(
            response.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; \\u{202e}&quot;"),
            "{response}"
        );
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        for header in
            ["Content-Security-Policy: default-src 'none'", "Cache-Control: no-store", "Referrer-Policy: no-referrer"]
        {
            assert!(head.contains(header), "{head}");
        }
    }
}
