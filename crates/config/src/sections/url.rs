//! What a URL in the config must look like.

/// The error in the URL of an HTTP server, if there is one. Does not contain the URL, which may include an API key.
pub(crate) fn url_problem(url: &str) -> Option<&'static str> {
    let Ok(parsed) = url.parse::<http::Uri>() else { return Some("expected a URL such as `https://host/mcp`") };
    match parsed.scheme_str() {
        Some("http" | "https") if parsed.host().is_some_and(|host| !host.is_empty()) => None,
        _ => Some("expected a URL that begins with `http://` or `https://`"),
    }
}
