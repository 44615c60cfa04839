//! Where a description says that its API is. This is only a default: requests go to the `url` of the config.

use url::Url;

use crate::document::Node;

/// The address in `servers`, with the defaults of its variables; relative to where the description came from. `None` if there
/// is none, or if it is no `http` or `https` URL.
pub(crate) fn default_url(root: &Node, fetched_from: Option<&Url>) -> Option<Url> {
    let server = root.items_of("servers").first()?;
    let mut url = server.text_of("url")?.trim().to_owned();
    for (name, variable) in server.members_of("variables") {
        if let Some(default) = variable.text_of("default") {
            url = url.replace(&format!("{{{name}}}"), default);
        }
    }
    let url = match Url::parse(&url) {
        Ok(url) => url,
        Err(_) => fetched_from?.join(&url).ok()?,
    };
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    if is_http && url.username().is_empty() && url.password().is_none() { Some(url) } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::read_value;

    #[test]
    fn the_first_server_is_the_default() {
        let url = |servers: serde_json::Value, from: Option<&str>| {
            let from = from.map(|from| Url::parse(from).unwrap());
            let root = read_value(&json!({ "servers": servers })).unwrap();
            default_url(&root, from.as_ref()).map(String::from)
        };
        assert_eq!(
            url(json!([{"url": "https://a.example/v1"}, {"url": "http://b"}]), None).unwrap(),
            "https://a.example/v1"
        );
        let variables = json!({"region": {"default": "eu"}, "port": {"default": "8443"}});
        let templated = json!([{"url": "https://{region}.a.example:{port}/", "variables": variables}]);
        assert_eq!(url(templated, None).unwrap(), "https://eu.a.example:8443/");
        let relative = json!([{"url": "/api/v3"}]);
        assert_eq!(url(relative.clone(), None), None, "`url` is needed");
        assert_eq!(url(relative, Some("https://a.example/docs/openapi.json")).unwrap(), "https://a.example/api/v3");
        for wrong in ["file:///etc/passwd", "ftp://a", "https://user:secret@a.example", "https://{unknown}:{x}/"] {
            assert_eq!(url(json!([{ "url": wrong }]), None), None, "{wrong}");
        }
        assert_eq!(url(json!([]), Some("https://a.example")), None);
    }
}
