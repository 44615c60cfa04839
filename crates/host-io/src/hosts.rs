//! The hosts that an extension may connect to (`allowed_hosts`).

use std::net::IpAddr;

/// Without a list, every host with a public address is allowed. With a list, only its hosts are, whatever their
/// address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(Option<Vec<Pattern>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// `*`: every host with a public address.
    Public,
    /// `*.example.com`, stored with the leading dot.
    Subdomain(String),
    /// A host name or an IP address.
    Exact(String),
}

/// Whether a host may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAccess {
    /// The list names the host, so any address is allowed.
    Named,
    /// Only public addresses are allowed.
    PublicOnly,
    Denied,
}

/// The error for a host without a public address.
pub(super) fn not_public(host: &str) -> String {
    format!("`{host}` is not a public address; to reach it, name the host in `allowed_hosts` of Extension()")
}

impl Hosts {
    pub fn parse(list: Option<&[String]>) -> Result<Self, String> {
        let patterns = list.map(|list| list.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>());
        Ok(Hosts(patterns.transpose()?))
    }

    /// The access to a host, given in lower case as in a URL, an IPv6 address without brackets.
    pub fn access(&self, host: &str, port: u16) -> HostAccess {
        let Some(patterns) = &self.0 else { return HostAccess::PublicOnly };
        let host = host.trim_end_matches('.');
        let matching = patterns.iter().filter(|pattern| pattern.port.is_none_or(|own| own == port));
        let mut access = HostAccess::Denied;
        for pattern in matching {
            match &pattern.name {
                Name::Exact(name) if name == host => return HostAccess::Named,
                Name::Subdomain(end) if host.ends_with(end.as_str()) && host.len() > end.len() => {
                    return HostAccess::Named;
                }
                Name::Public => access = HostAccess::PublicOnly,
                _ => {}
            }
        }
        access
    }

    /// The list for an error message.
    pub fn rendered(&self) -> String {
        let rendered = |pattern: &Pattern| {
            let name = match &pattern.name {
                Name::Public => "*".to_owned(),
                Name::Subdomain(end) => format!("*{end}"),
                Name::Exact(name) => name.clone(),
            };
            pattern.port.map_or_else(|| format!("\"{name}\""), |port| format!("\"{name}:{port}\""))
        };
        self.0.iter().flatten().map(rendered).collect::<Vec<_>>().join(", ")
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            Err(format!(
                "`{text}` in `allowed_hosts` is not a host; write `api.example.com`, `*.example.com`, `localhost:8080` or an address"
            ))
        };
        let (name, port) = split(text);
        let Ok(port) = port.map(str::parse::<u16>).transpose() else { return wrong() };
        if name == "*" {
            return Ok(Pattern { name: Name::Public, port });
        }
        let name = name.trim_end_matches('.').to_lowercase();
        let (is_subdomain, bare) = match name.strip_prefix("*.") {
            Some(bare) => (true, bare),
            None => (false, name.as_str()),
        };
        if let (false, Ok(address)) = (is_subdomain, bare.parse::<IpAddr>()) {
            return Ok(Pattern { name: Name::Exact(address.to_string()), port });
        }
        let plain = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '.' || letter == '_';
        if bare.is_empty() || !bare.chars().all(plain) {
            return wrong();
        }
        let name = if is_subdomain { Name::Subdomain(format!(".{bare}")) } else { Name::Exact(bare.to_owned()) };
        Ok(Pattern { name, port })
    }
}

/// Splits name and port. An IPv6 address with a port must be in brackets.
fn split(text: &str) -> (&str, Option<&str>) {
    if let Some(rest) = text.strip_prefix('[')
        && let Some((address, port)) = rest.split_once(']')
    {
        return (address, port.strip_prefix(':'));
    }
    match text.split_once(':') {
        Some((name, port)) if !port.contains(':') => (name, Some(port)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &[&str]) -> Hosts {
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        Hosts::parse(Some(&list)).unwrap()
    }

    #[test]
    fn without_a_list_the_public_internet_is_open() {
        assert_eq!(Hosts::default().access("example.com", 443), HostAccess::PublicOnly);
        assert_eq!(Hosts::parse(None).unwrap(), Hosts::default());
    }

    #[test]
    fn a_list_names_hosts_ports_and_domains() {
        let list = hosts(&["API.example.com", "*.corp.test", "localhost:8080", "[::1]:9", "10.0.0.1"]);
        for (host, port, access) in [
            ("api.example.com", 443, HostAccess::Named),
            ("api.example.com.", 443, HostAccess::Named),
            ("example.com", 443, HostAccess::Denied),
            ("evil-api.example.com", 443, HostAccess::Denied),
            ("a.b.corp.test", 1, HostAccess::Named),
            ("corp.test", 1, HostAccess::Denied),
            ("evilcorp.test", 1, HostAccess::Denied),
            ("localhost", 8080, HostAccess::Named),
            ("localhost", 8081, HostAccess::Denied),
            ("::1", 9, HostAccess::Named),
            ("10.0.0.1", 80, HostAccess::Named),
            ("10.0.0.2", 80, HostAccess::Denied),
        ] {
            assert_eq!(list.access(host, port), access, "{host}:{port}");
        }
        assert_eq!(hosts(&[]).access("example.com", 443), HostAccess::Denied);
        let open = hosts(&["*", "localhost"]);
        assert_eq!(open.access("example.com", 443), HostAccess::PublicOnly);
        assert_eq!(open.access("localhost", 1), HostAccess::Named);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["https://example.com", "", "a b", "*.", "x:99999", "a/b"] {
            assert!(Hosts::parse(Some(&[text.to_owned()])).is_err(), "{text}");
        }
    }
}
