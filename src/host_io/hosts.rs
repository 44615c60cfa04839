//! Which hosts an extension may talk to.

use std::net::IpAddr;

/// Without a list: every host of the public internet. With one: only the hosts it names, wherever they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(Option<Vec<Pattern>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// `*`: every host of the public internet.
    Public,
    /// `*.example.com`: with its dot.
    Below(String),
    /// A host name or an address.
    Exact(String),
}

/// What the list says of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Named: whatever its addresses are.
    Named,
    /// Only at addresses of the public internet.
    PublicOnly,
    Refused,
}

impl Hosts {
    pub fn parse(list: Option<&[String]>) -> Result<Self, String> {
        let patterns = list.map(|list| list.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>());
        Ok(Hosts(patterns.transpose()?))
    }

    /// Whether there is a list at all.
    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// `host` as a URL has it: lower case, an IPv6 address without brackets.
    pub fn verdict(&self, host: &str, port: u16) -> Verdict {
        let Some(patterns) = &self.0 else { return Verdict::PublicOnly };
        let host = host.trim_end_matches('.');
        let fitting = patterns.iter().filter(|pattern| pattern.port.is_none_or(|own| own == port));
        let mut verdict = Verdict::Refused;
        for pattern in fitting {
            match &pattern.name {
                Name::Exact(name) if name == host => return Verdict::Named,
                Name::Below(end) if host.ends_with(end.as_str()) && host.len() > end.len() => return Verdict::Named,
                Name::Public => verdict = Verdict::PublicOnly,
                _ => {}
            }
        }
        verdict
    }

    /// The list, for an error.
    pub fn shown(&self) -> String {
        let shown = |pattern: &Pattern| {
            let name = match &pattern.name {
                Name::Public => "*".to_owned(),
                Name::Below(end) => format!("*{end}"),
                Name::Exact(name) => name.clone(),
            };
            pattern.port.map_or_else(|| format!("\"{name}\""), |port| format!("\"{name}:{port}\""))
        };
        self.0.iter().flatten().map(shown).collect::<Vec<_>>().join(", ")
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            Err(format!(
                "`{text}` in `allowed_hosts` is no host; write `api.example.com`, `*.example.com`, `localhost:8080` or an address"
            ))
        };
        let (name, port) = split(text);
        let Ok(port) = port.map(str::parse::<u16>).transpose() else { return wrong() };
        if name == "*" {
            return Ok(Pattern { name: Name::Public, port });
        }
        let name = name.trim_end_matches('.').to_lowercase();
        let (below, bare) = match name.strip_prefix("*.") {
            Some(bare) => (true, bare),
            None => (false, name.as_str()),
        };
        if let (false, Ok(address)) = (below, bare.parse::<IpAddr>()) {
            return Ok(Pattern { name: Name::Exact(address.to_string()), port });
        }
        let plain = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '.' || letter == '_';
        if bare.is_empty() || !bare.chars().all(plain) {
            return wrong();
        }
        let name = if below { Name::Below(format!(".{bare}")) } else { Name::Exact(bare.to_owned()) };
        Ok(Pattern { name, port })
    }
}

/// Name and port; an IPv6 address has a port only behind brackets.
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
        assert_eq!(Hosts::default().verdict("example.com", 443), Verdict::PublicOnly);
        assert_eq!(Hosts::parse(None).unwrap(), Hosts::default());
    }

    #[test]
    fn a_list_names_hosts_ports_and_domains() {
        let list = hosts(&["API.example.com", "*.corp.test", "localhost:8080", "[::1]:9", "10.0.0.1"]);
        for (host, port, verdict) in [
            ("api.example.com", 443, Verdict::Named),
            ("api.example.com.", 443, Verdict::Named),
            ("example.com", 443, Verdict::Refused),
            ("evil-api.example.com", 443, Verdict::Refused),
            ("a.b.corp.test", 1, Verdict::Named),
            ("corp.test", 1, Verdict::Refused),
            ("evilcorp.test", 1, Verdict::Refused),
            ("localhost", 8080, Verdict::Named),
            ("localhost", 8081, Verdict::Refused),
            ("::1", 9, Verdict::Named),
            ("10.0.0.1", 80, Verdict::Named),
            ("10.0.0.2", 80, Verdict::Refused),
        ] {
            assert_eq!(list.verdict(host, port), verdict, "{host}:{port}");
        }
        assert_eq!(hosts(&[]).verdict("example.com", 443), Verdict::Refused);
        let open = hosts(&["*", "localhost"]);
        assert_eq!(open.verdict("example.com", 443), Verdict::PublicOnly);
        assert_eq!(open.verdict("localhost", 1), Verdict::Named);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["https://example.com", "", "a b", "*.", "x:99999", "a/b"] {
            assert!(Hosts::parse(Some(&[text.to_owned()])).is_err(), "{text}");
        }
    }
}
