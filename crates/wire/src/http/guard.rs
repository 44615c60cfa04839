//! Checks the `Host` and `Origin` headers of requests, to protect against DNS rebinding by web pages.

use std::net::SocketAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GuardError {
    #[error("unknown host in the `Host` header")]
    Host,
    #[error("the request has more than one `Host` header")]
    SeveralHosts,
    #[error("the `Host` header and the request's `:authority` differ")]
    Authority,
    #[error("this `Origin` is not allowed; add it to `serve.allowedOrigins`")]
    Origin,
}

impl GuardError {
    pub fn status(&self) -> StatusCode {
        match self {
            GuardError::SeveralHosts | GuardError::Authority => StatusCode::BAD_REQUEST,
            GuardError::Host | GuardError::Origin => StatusCode::FORBIDDEN,
        }
    }
}

/// The hosts and origins that a listener accepts.
#[derive(Clone, Debug)]
pub struct Guard {
    /// `None` accepts any host: a listener open to the network cannot know all of its names.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
}

impl Guard {
    pub fn new(bound: SocketAddr, allowed_origins: &[String]) -> Self {
        let port = bound.port();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned(), host_name(bound)];
        let mut origins = allowed_origins.to_vec();
        if !bound.ip().is_loopback() {
            return Guard { hosts: None, origins };
        }
        origins.extend(names.iter().map(|name| format!("http://{name}:{port}")));
        let hosts = names.iter().flat_map(|name| [name.clone(), format!("{name}:{port}")]).collect();
        Guard { hosts: Some(hosts), origins }
    }

    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), GuardError> {
        self.check_host(uri, headers)?;
        self.check_origin(headers)
    }

    pub(super) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), GuardError> {
        // HTTP/2 sends `:authority` instead of, or in addition to, the `Host` header. An intermediary may have read either,
        // so they must agree, even on a listener that is open to any host.
        let authority = uri.authority().map(Authority::as_str);
        let hosts = || headers.get_all(HOST).iter();
        if hosts().nth(1).is_some() {
            return Err(GuardError::SeveralHosts);
        }
        if authority
            .is_some_and(|authority| hosts().any(|host| !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes())))
        {
            return Err(GuardError::Authority);
        }
        if let Some(allowed) = &self.hosts {
            let known = |host: &str| allowed.iter().any(|name| name.eq_ignore_ascii_case(host));
            let accepted = match headers.get(HOST) {
                Some(host) => host.to_str().is_ok_and(known),
                None => authority.is_some_and(known),
            };
            if !accepted {
                return Err(GuardError::Host);
            }
        }
        Ok(())
    }

    /// The hosts that are accepted, for people; empty if all are.
    pub(super) fn accepted_hosts(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        // Each without its port, and then with it.
        for name in self.hosts.iter().flatten().step_by(2) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), GuardError> {
        if headers.contains_key(ORIGIN) && self.allowed_origin(headers).is_none() {
            return Err(GuardError::Origin);
        }
        Ok(())
    }

    /// The request's origin, if there is exactly one and it is allowed.
    pub fn allowed_origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let mut values = headers.get_all(ORIGIN).iter();
        let origin = values.next()?;
        if values.next().is_some() {
            return None;
        }
        let text = origin.to_str().ok()?;
        self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(text)).then_some(origin)
    }
}

fn host_name(bound: SocketAddr) -> String {
    match bound {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(guard: &Guard, pairs: &[(&'static str, &str)]) -> Result<(), GuardError> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        guard.check(&Uri::from_static("/mcp"), &headers)
    }

    #[test]
    fn loopback_names_and_origins_are_answered_and_others_are_not() {
        let guard = Guard::new("127.0.0.1:80".parse().unwrap(), &["https://ok.example".to_owned()]);
        assert_eq!(verdict(&guard, &[("host", "localhost:80")]), Ok(()));
        assert_eq!(verdict(&guard, &[("host", "127.0.0.1:80"), ("origin", "http://localhost:80")]), Ok(()));
        assert_eq!(verdict(&guard, &[("host", "127.0.0.1:80"), ("origin", "https://ok.example")]), Ok(()));
        assert_eq!(verdict(&guard, &[("host", "evil.example")]), Err(GuardError::Host));
        assert_eq!(verdict(&guard, &[("host", "localhost:80"), ("origin", "null")]), Err(GuardError::Origin));
        assert_eq!(verdict(&guard, &[("host", "localhost:80"), ("origin", "http://evil")]), Err(GuardError::Origin));
    }

    #[test]
    fn two_hosts_are_refused_whatever_they_are() {
        for bound in ["127.0.0.1:80", "0.0.0.0:80"] {
            let guard = Guard::new(bound.parse().unwrap(), &[]);
            let problem = verdict(&guard, &[("host", "localhost:80"), ("host", "localhost:80")]).unwrap_err();
            assert_eq!((&problem, problem.status()), (&GuardError::SeveralHosts, StatusCode::BAD_REQUEST));
        }
    }

    #[test]
    fn the_accepted_hosts_are_named_once() {
        let of = |bound: &str| Guard::new(bound.parse().unwrap(), &[]).accepted_hosts();
        assert_eq!(of("127.0.0.1:80"), "localhost, 127.0.0.1, [::1]");
        assert_eq!(of("0.0.0.0:80"), "");
    }

    #[test]
    fn an_authority_beside_the_header_must_be_the_same() {
        for bound in ["127.0.0.1:80", "0.0.0.0:80"] {
            let guard = Guard::new(bound.parse().unwrap(), &[]);
            let verdict = |authority: &str, host: &str| {
                let headers = [("host", host)].into_iter().filter(|(_, host)| !host.is_empty());
                let headers = headers.map(|(name, host)| (name.parse().unwrap(), host.parse().unwrap())).collect();
                guard.check(&format!("http://{authority}/mcp").parse().unwrap(), &headers)
            };
            assert_eq!(verdict("localhost:80", "LocalHost:80"), Ok(()));
            assert_eq!(verdict("localhost:80", ""), Ok(()));
            assert_eq!(verdict("localhost:80", "127.0.0.1:80"), Err(GuardError::Authority));
            assert_eq!(verdict("evil.example", "localhost:80"), Err(GuardError::Authority));
        }
        let guard = Guard::new("127.0.0.1:80".parse().unwrap(), &[]);
        let evil = Uri::from_static("http://evil.example/mcp");
        assert_eq!(guard.check(&evil, &HeaderMap::new()), Err(GuardError::Host));
    }

    #[test]
    fn an_open_listener_checks_origins_only() {
        let guard = Guard::new("0.0.0.0:80".parse().unwrap(), &[]);
        assert_eq!(verdict(&guard, &[("host", "mcp.example")]), Ok(()));
        assert_eq!(
            verdict(&guard, &[("host", "mcp.example"), ("origin", "http://localhost:80")]),
            Err(GuardError::Origin)
        );
    }
}
