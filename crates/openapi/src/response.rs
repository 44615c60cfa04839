//! Makes a tool result of an HTTP response.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proxy_json::{Raw, RawRef, one_line, quote, too_deep};
use url::Url;

use crate::operation::{Media, media_of};
use crate::possible_keys::without_keys;

/// How much of the body of an error is passed on.
const MAX_ERROR_BODY: usize = 4096;

/// A response of the API, with its whole body.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApiResponse<'a> {
    pub status: u16,
    /// The header `Content-Type`; empty if there is none.
    pub content_type: &'a str,
    /// The header `Retry-After`.
    pub retry_after: Option<&'a str>,
    /// Where the header `Location` leads.
    pub location: Option<&'a Url>,
    /// What all requests begin with, and may have a key in it.
    pub base: Option<&'a Url>,
    pub body: &'a [u8],
}

/// A tool result, and what it contains.
#[derive(Clone, Debug)]
pub struct ApiResult {
    pub result: Raw,
    /// The structured content; `None` if the response is not JSON.
    pub structured: Option<Raw>,
    /// Whether the status is that of an error.
    pub is_error: bool,
}

impl ApiResponse<'_> {
    /// Whether the API says that the fault is its own, and not the request's. 501 is about the operation alone.
    pub fn is_fault(&self) -> bool {
        (500..600).contains(&self.status) && self.status != 501
    }

    /// The result of a tool with this name.
    pub fn result(&self, tool: &str) -> ApiResult {
        if !(200..300).contains(&self.status) {
            return ApiResult { result: self.error(), structured: None, is_error: true };
        }
        if self.body.is_empty() {
            return plain(text_content(&status_line(self.status)));
        }
        let essence = self.content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_text = std::str::from_utf8(self.body).is_ok();
        match media_of(&essence) {
            Media::Json => self.json().unwrap_or_else(|| self.broken_json()),
            // Some APIs do not tell the type.
            _ if essence.is_empty() && is_text => self.json().unwrap_or_else(|| plain(text_content(&self.text()))),
            Media::Text | Media::Form => plain(text_content(&self.text())),
            Media::Multipart | Media::Bytes => plain(self.bytes(tool, &essence)),
        }
    }

    /// The body as structured content; `None` if it is not JSON.
    fn json(&self) -> Option<ApiResult> {
        if too_deep(self.body) {
            return None;
        }
        let text = std::str::from_utf8(self.body).ok()?.trim_start_matches('\u{feff}').trim();
        let value = proxy_json::valid(one_line(text).into_owned()).ok()?;
        let structured = if value.get().starts_with('{') {
            value.clone()
        } else {
            // Structured content is an object.
            proxy_json::object([("result", &value)])
        };
        let content = proxy_json::array([text_block(value.get())]);
        let result = proxy_json::object([("content", &content), ("structuredContent", &structured)]);
        Some(ApiResult { result, structured: Some(structured), is_error: false })
    }

    /// A body that is no JSON although its type says so.
    fn broken_json(&self) -> ApiResult {
        let status = status_line(self.status);
        let body = shortened(&self.text(), MAX_ERROR_BODY);
        let text = format!("{status}, but the response cannot be read as JSON, which it says it is\n\n{body}");
        ApiResult { result: error_content(&text), structured: None, is_error: false }
    }

    fn text(&self) -> String {
        let charset = self.content_type.to_ascii_lowercase();
        if charset.contains("charset=iso-8859-1") || charset.contains("charset=latin1") {
            return self.body.iter().map(|byte| char::from(*byte)).collect();
        }
        String::from_utf8_lossy(self.body).trim_start_matches('\u{feff}').to_owned()
    }

    fn bytes(&self, tool: &str, essence: &str) -> Raw {
        let data = proxy_json::raw(&STANDARD.encode(self.body));
        let kind = if essence.starts_with("image/") {
            "image"
        } else if essence.starts_with("audio/") {
            "audio"
        } else {
            let mime_type = if essence.is_empty() { "application/octet-stream" } else { essence };
            let uri = format!("api:///{tool}");
            let resource = proxy_json::object([
                ("uri", &proxy_json::raw(&uri)),
                ("mimeType", &proxy_json::raw(mime_type)),
                ("blob", &data),
            ]);
            let block = proxy_json::object([("type", &proxy_json::raw("resource")), ("resource", &resource)]);
            return content(&block);
        };
        content(&proxy_json::object([
            ("type", &proxy_json::raw(kind)),
            ("data", &data),
            ("mimeType", &proxy_json::raw(essence)),
        ]))
    }

    fn error(&self) -> Raw {
        let mut text = status_line(self.status);
        if let Some(after) = self.retry_after {
            text.push_str(&format!("\nRetry-After: {}", shortened(after, 100)));
        }
        if let Some(location) = self.location
            && (300..400).contains(&self.status)
        {
            // An API repeats path and query of the request there, with the key that the config sets, and in the body.
            text.push_str(&format!("\nLocation: {} (not followed)", shortened(&origin(location), 300)));
            return error_content(&text);
        }
        let essence = self.content_type.split(';').next().unwrap_or_default().trim();
        let is_text = std::str::from_utf8(self.body).is_ok() || media_of(essence) != Media::Bytes;
        if !self.body.is_empty() && is_text {
            text.push_str("\n\n");
            let body = match self.base {
                Some(base) => without_keys(self.text(), base),
                None => self.text(),
            };
            text.push_str(&shortened(&body, MAX_ERROR_BODY));
        }
        error_content(&text)
    }
}

/// The host that a URL leads to, without anything that could be a secret.
fn origin(url: &Url) -> String {
    let origin = url.origin();
    if origin.is_tuple() { origin.ascii_serialization() } else { format!("{}:", url.scheme()) }
}

fn error_content(text: &str) -> Raw {
    proxy_json::object([("content", &proxy_json::array([text_block(text)])), ("isError", &RawRef::TRUE.to_owned())])
}

fn plain(result: Raw) -> ApiResult {
    ApiResult { result, structured: None, is_error: false }
}

fn status_line(status: u16) -> String {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| format!("HTTP {status}"), |reason| format!("HTTP {status} {reason}"))
}

fn text_block(text: &str) -> Raw {
    let quoted = quote(text);
    proxy_json::valid(format!("{{\"type\":\"text\",\"text\":{quoted}}}")).unwrap_or_else(|_| RawRef::NULL.to_owned())
}

fn content(block: &RawRef) -> Raw {
    proxy_json::object([("content", proxy_json::array([block]))])
}

fn text_content(text: &str) -> Raw {
    content(&text_block(text))
}

fn shortened(text: &str, max: usize) -> String {
    let short = crate::schema::shortened(text, max);
    if short.len() == text.len() { text.to_owned() } else { format!("{short} ({} bytes in all)", text.len()) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(status: u16, content_type: &str, body: &[u8]) -> Value {
        let response = ApiResponse { status, content_type, body, ..ApiResponse::default() };
        serde_json::from_str(response.result("t").result.get()).unwrap()
    }

    #[test]
    fn json_becomes_structured_content_byte_for_byte() {
        let response = ApiResponse {
            status: 200,
            content_type: "application/vnd.api+json; charset=utf-8",
            body: b"{\"a\": 1.10,\n\"b\":1e400}",
            ..ApiResponse::default()
        };
        let made = response.result("t");
        assert_eq!(made.structured.unwrap().get(), "{\"a\": 1.10, \"b\":1e400}");
        assert!(made.result.get().contains("\"structuredContent\":{\"a\": 1.10, \"b\":1e400}"));
        assert!(!made.result.get().contains('\n'));
        let list = result(201, "application/json", b"[1,2]");
        assert_eq!(list["structuredContent"], json!({"result": [1, 2]}));
        assert_eq!(list["content"][0]["text"], "[1,2]");
        assert_eq!(result(200, "", b"{\"a\":1}")["structuredContent"], json!({"a": 1}), "no type");
    }

    #[test]
    fn json_that_cannot_be_read_is_an_error_and_another_type_is_not() {
        for body in [&b"<html>"[..], b"{\"a\":", b"\xff\xfe", "[".repeat(1000).as_bytes()] {
            let made = result(200, "application/json", body);
            assert_eq!(made.get("structuredContent"), None);
            assert_eq!(made["isError"], true);
            let text = made["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("HTTP 200 OK, but the response cannot be read as JSON"), "{text}");
        }
        assert_eq!(result(200, "text/html", b"<p>")["content"], json!([{"type": "text", "text": "<p>"}]));
        assert_eq!(result(200, "text/plain; charset=ISO-8859-1", b"\xe4")["content"][0]["text"], "ä");
    }

    #[test]
    fn only_a_server_error_is_a_fault_of_the_api() {
        let is_fault = |status| ApiResponse { status, ..ApiResponse::default() }.is_fault();
        for status in [200, 302, 400, 401, 404, 429, 501, 600] {
            assert!(!is_fault(status), "{status}");
        }
        for status in [500, 502, 503, 504, 599] {
            assert!(is_fault(status), "{status}");
        }
    }

    #[test]
    fn other_bytes_become_content_of_their_kind() {
        let image = result(200, "image/png", b"\x89PNG");
        assert_eq!(image["content"], json!([{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]));
        assert_eq!(result(200, "Audio/MPEG", b"x")["content"][0]["type"], "audio");
        let blob = result(200, "application/zip", b"PK")["content"][0].clone();
        let resource = json!({"uri": "api:///t", "mimeType": "application/zip", "blob": "UEs="});
        assert_eq!(blob, json!({"type": "resource", "resource": resource}));
        assert_eq!(result(204, "", b"")["content"][0]["text"], "HTTP 204 No Content");
    }

    #[test]
    fn an_error_tells_its_status_and_a_part_of_its_body() {
        let elsewhere = Url::parse("https://user:s3cret@x.example/v1/s3cret?api_key=s3cret#s3cret").unwrap();
        let response = ApiResponse {
            status: 429,
            content_type: "application/json",
            retry_after: Some("Wed, 21 Oct 2026 07:28:00 GMT"),
            body: b"{\"message\":\"slow down\"}",
            location: Some(&elsewhere),
            base: None,
        };
        let made: Value = serde_json::from_str(response.result("t").result.get()).unwrap();
        assert_eq!(made["isError"], true);
        let text = made["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            text,
            "HTTP 429 Too Many Requests\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\n\n{\"message\":\"slow down\"}"
        );
        let long = result(500, "text/html", "ä".repeat(10_000).as_bytes());
        let text = long["content"][0]["text"].as_str().unwrap();
        assert!(text.len() < 4200 && text.ends_with("… (20000 bytes in all)"), "{}", text.len());
        assert_eq!(result(599, "image/png", b"\x89\xff")["content"][0]["text"], "HTTP 599");
        let body = b"Redirecting to https://x.example/v1/s3cret";
        let redirect = ApiResponse {
            status: 302,
            content_type: "text/plain",
            location: Some(&elsewhere),
            body,
            ..ApiResponse::default()
        };
        let text = redirect.result("t").result.get().to_owned();
        assert!(text.contains("Location: https://x.example (not followed)") && !text.contains("s3cret"), "{text}");
        let other = Url::parse("data:text/plain,s3cret").unwrap();
        let redirect = ApiResponse { location: Some(&other), ..redirect };
        assert!(redirect.result("t").result.get().contains("Location: data: (not followed)"));
    }
}
