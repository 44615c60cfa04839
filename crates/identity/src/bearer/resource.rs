//! The proxy as an OAuth protected resource, with a URL and metadata (RFC 9728).

use std::net::SocketAddr;

use serde_json::{Value, json};

use proxy_config::{Authentication, Serve, is_profile_name};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[derive(Clone, Debug)]
pub struct Resource {
    /// Scheme, host and port; `None` if the request decides, which only a listener on this machine allows.
    origin: Option<String>,
    /// The path that clients use, without a slash at its end.
    path: String,
    /// The path of the listener. Another server in front may strip a prefix.
    own_path: String,
    /// The names of the listener on this machine, with and without its port.
    local_hosts: Vec<String>,
}

impl Resource {
    /// The resource with this URL.
    pub fn public(url: &str) -> Self {
        let url = url.trim_end_matches('/');
        let begin = url.find("://").map_or(0, |at| at + 3);
        let end = url[begin..].find('/').map_or(url.len(), |at| begin + at);
        let (origin, path) = url.split_at(end);
        Resource {
            origin: Some(origin.to_owned()),
            path: path.to_owned(),
            own_path: path.to_owned(),
            local_hosts: Vec::new(),
        }
    }

    pub fn new(serve: &Serve, bound: SocketAddr) -> Self {
        let own_path = serve.path.trim_end_matches('/').to_owned();
        if let Some(url) = &serve.public_url {
            return Resource { own_path, ..Resource::public(url) };
        }
        let path = own_path.clone();
        if !bound.ip().is_loopback() {
            return Resource { origin: Some(format!("http://{bound}")), path, own_path, local_hosts: Vec::new() };
        }
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        let bound_name = bound.to_string();
        let with_port = names.iter().map(|name| format!("{name}:{}", bound.port())).chain([bound_name]);
        // Without a port, a name means port 80, where something else may be.
        let without_port = names.clone().into_iter().filter(|_| bound.port() == 80);
        Resource { origin: None, path, own_path, local_hosts: with_port.chain(without_port).collect() }
    }

    /// The origin as the client knows it. The `Host` of the request has been checked by the listener.
    fn origin(&self, host: Option<&str>) -> String {
        if let Some(origin) = &self.origin {
            return origin.clone();
        }
        let known = |host: &&str| self.local_hosts.iter().any(|name| name.eq_ignore_ascii_case(host));
        let host = host.filter(known).or(self.local_hosts.first().map(String::as_str));
        format!("http://{}", host.unwrap_or("localhost").to_ascii_lowercase())
    }

    /// Whether a token with this audience is for the proxy.
    pub fn is_audience(&self, audience: &str) -> bool {
        let audience = audience.trim_end_matches('/');
        let Some(origin) = audience.strip_suffix(self.path.as_str()) else { return false };
        match &self.origin {
            Some(own) => own == origin,
            None => {
                let host = origin.strip_prefix("http://");
                host.is_some_and(|host| self.local_hosts.iter().any(|name| name == host))
            }
        }
    }

    /// The profile for which alone a token with this audience is; `None` if it is for something else.
    pub fn profile_of_audience<'a>(&self, audience: &'a str) -> Option<&'a str> {
        let (proxy, profile) = audience.trim_end_matches('/').rsplit_once('/')?;
        // With another slash it would be another URL.
        let is_below = !proxy.ends_with('/') && is_profile_name(profile);
        (is_below && self.is_audience(proxy)).then_some(profile)
    }

    /// The URL of the metadata of a profile; of the proxy itself, if its name is empty.
    pub fn metadata_url(&self, host: Option<&str>, profile: &str) -> String {
        format!("{}{WELL_KNOWN}{}{}", self.origin(host), self.path, below(profile))
    }

    /// The profile whose metadata clients look for at a path; empty for those of the proxy itself. `None` if it is another
    /// path.
    pub fn metadata_of<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(WELL_KNOWN)?.trim_end_matches('/');
        if rest.is_empty() || rest == self.path || rest == self.own_path {
            return Some("");
        }
        let (proxy, profile) = rest.rsplit_once('/')?;
        let is_ours = proxy == self.path || proxy == self.own_path;
        (is_ours && is_profile_name(profile)).then_some(profile)
    }

    /// The metadata of a profile, which needs these scopes, or of the proxy itself.
    pub fn metadata(
        &self,
        host: Option<&str>,
        authentication: &Authentication,
        profile: &str,
        scopes: &[String],
    ) -> Value {
        let issuers: Vec<&str> = authentication.issuers.iter().map(|issuer| issuer.issuer.as_str()).collect();
        let mut document = json!({
            "resource": format!("{}{}{}", self.origin(host), self.path, below(profile)),
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
            "resource_name": "MCP proxy",
        });
        if !scopes.is_empty() {
            document["scopes_supported"] = json!(scopes);
        }
        document
    }
}

/// The end of the URL of a profile.
fn below(profile: &str) -> String {
    if profile.is_empty() { String::new() } else { format!("/{profile}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_config::IssuerConfig;

    fn local() -> Resource {
        Resource::new(&Serve::default(), "127.0.0.1:7331".parse().unwrap())
    }

    #[test]
    fn the_public_url_is_what_tokens_are_for_whatever_a_request_says() {
        let serve = Serve { public_url: Some("https://mcp.example.com/public/mcp".to_owned()), ..Serve::default() };
        let resource = Resource::new(&serve, "127.0.0.1:7331".parse().unwrap());
        let url = "https://mcp.example.com/.well-known/oauth-protected-resource/public/mcp";
        assert_eq!(resource.metadata_url(Some("evil.example"), ""), url);
        assert_eq!(resource.metadata_url(None, "research"), format!("{url}/research"));
        assert!(resource.is_audience("https://mcp.example.com/public/mcp/"));
        for other in ["https://mcp.example.com", "https://mcp.example.com/mcp", "http://localhost:7331/mcp", ""] {
            assert!(!resource.is_audience(other), "{other}");
        }
        for path in ["", "/", "/public/mcp", "/mcp", "/public/mcp/"] {
            assert_eq!(resource.metadata_of(&format!("{WELL_KNOWN}{path}")), Some(""), "{path}");
        }
        for path in ["/public/mcp/research", "/mcp/research", "/mcp/research/"] {
            assert_eq!(resource.metadata_of(&format!("{WELL_KNOWN}{path}")), Some("research"), "{path}");
        }
        for path in ["/other", "/other/research", "/mcp/connect", "/mcp/a/b", "/mcp//a", "/mcp/A"] {
            assert_eq!(resource.metadata_of(&format!("{WELL_KNOWN}{path}")), None, "{path}");
        }
        for path in ["/.well-known/openid-configuration", "/mcp"] {
            assert_eq!(resource.metadata_of(path), None, "{path}");
        }
        let whole = Resource::public("https://h");
        assert!(whole.is_audience("https://h") && whole.is_audience("https://h/") && !whole.is_audience("https://h/x"));
        assert_eq!(whole.metadata_url(None, ""), "https://h/.well-known/oauth-protected-resource");
        assert_eq!(whole.profile_of_audience("https://h/research"), Some("research"));
    }

    #[test]
    fn the_url_of_a_profile_is_an_audience_of_that_profile_alone() {
        let resource = Resource::public("https://h/mcp");
        for audience in ["https://h/mcp/research", "https://h/mcp/research/"] {
            assert_eq!(resource.profile_of_audience(audience), Some("research"), "{audience}");
            assert!(!resource.is_audience(audience), "{audience}");
        }
        let others =
            ["https://h/mcp", "https://h/mcp/", "https://h/mcp/connect", "https://h/mcp/a/b", "https://h/mcp//a"];
        for audience in others.into_iter().chain(["https://h/mcp/A", "https://i/mcp/a", "https://h/mcpa", "a", ""]) {
            assert_eq!(resource.profile_of_audience(audience), None, "{audience}");
        }
        assert_eq!(local().profile_of_audience("http://localhost:7331/mcp/a"), Some("a"));
    }

    #[test]
    fn on_this_machine_the_request_says_how_it_is_called() {
        let resource = local();
        let url = |host| resource.metadata_url(Some(host), "");
        assert_eq!(url("localhost:7331"), "http://localhost:7331/.well-known/oauth-protected-resource/mcp");
        assert_eq!(url("[::1]:7331"), "http://[::1]:7331/.well-known/oauth-protected-resource/mcp");
        assert!(!url("evil.example").contains("evil"));
        assert!(resource.is_audience("http://127.0.0.1:7331/mcp") && resource.is_audience("http://localhost:7331/mcp"));
        assert!(
            !resource.is_audience("http://localhost:7332/mcp") && !resource.is_audience("https://localhost:7331/mcp")
        );
    }

    #[test]
    fn the_metadata_name_the_issuers_and_the_least_scopes() {
        let authentication = Authentication {
            issuers: vec![IssuerConfig::new("https://a")],
            required_scopes: vec!["mcp".to_owned()],
            ..Authentication::default()
        };
        let host = Some("localhost:7331");
        let document = local().metadata(host, &authentication, "", &authentication.required_scopes);
        assert_eq!(document["resource"], "http://localhost:7331/mcp");
        assert_eq!(document["authorization_servers"], json!(["https://a"]));
        assert_eq!(document["scopes_supported"], json!(["mcp"]));
        let document = local().metadata(host, &authentication, "research", &["mcp".to_owned(), "read".to_owned()]);
        assert_eq!(document["resource"], "http://localhost:7331/mcp/research");
        assert_eq!(document["scopes_supported"], json!(["mcp", "read"]));
    }
}
