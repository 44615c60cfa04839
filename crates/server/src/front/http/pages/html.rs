//! HTML, from text that may come from anywhere.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;\
color:#1b1b1f;background:#fff}button{font:inherit;padding:.4rem .9rem;margin:.2rem .4rem .2rem 0;cursor:pointer}\
form{display:inline}li{margin:.6rem 0}.who{padding:.6rem .9rem;background:#eef1f6;border-radius:.4rem}\
@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#17181b}a{color:#9ec1ff}.who{background:#26282d}}";

/// The style as the `Content-Security-Policy` names it.
pub(super) fn style_digest() -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(STYLE)))
}

/// Text as HTML.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) && !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut html = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            letter if letter.is_control() => html.push(' '),
            letter => html.push(letter),
        }
    }
    Cow::Owned(html)
}

pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", escaped(text))
}

/// A whole page. `title` is text, `body` is HTML.
pub(super) fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{body}</html>\n"
    )
}

/// A form with one button, which is sent to `address` with these fields.
pub(super) fn button(address: &str, label: &str, fields: &[(&str, &str)]) -> String {
    let hidden: String = fields
        .iter()
        .map(|(name, value)| format!("<input type=\"hidden\" name=\"{}\" value=\"{}\">", escaped(name), escaped(value)))
        .collect();
    let address = escaped(address);
    let label = escaped(label);
    format!("<form method=\"post\" action=\"{address}\">{hidden}<button>{label}</button></form>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_a_part_of_the_page() {
        let html = paragraph("<script>\"&'\u{1b}");
        assert_eq!(html, "<p>&lt;script&gt;&quot;&amp;&#39; </p>");
        let html = button("https://h/?a=1&b=2", "Go", &[("csrf", "\"><x>")]);
        assert!(html.contains("value=\"&quot;&gt;&lt;x&gt;\"") && html.contains("a=1&amp;b=2"), "{html}");
    }

    #[test]
    fn a_page_has_no_script() {
        assert!(!page("T", "").contains("script") && page("T", "").contains(STYLE));
    }
}
