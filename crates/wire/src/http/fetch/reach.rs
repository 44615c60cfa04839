//! Restricts the addresses of requests whose URL came from another server (SSRF protection).

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::FetchError;
use proxy_base::address::AddressClass;

/// The addresses that may be requested: public ones, and the class of addresses that the server itself is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Public,
    /// Also private networks.
    Private,
    /// Also this machine, where plain HTTP is allowed.
    Loopback,
}

impl Reach {
    /// The reach of URLs that this server names. A host name counts as private if all its addresses are: it comes from the
    /// config, and internal servers often have names. Only `localhost` counts as this machine.
    pub async fn of(server: &Url) -> Reach {
        let class = match server.host() {
            Some(Host::Ipv4(address)) => AddressClass::of(address.into()),
            Some(Host::Ipv6(address)) => AddressClass::of(address.into()),
            Some(Host::Domain(name)) if is_localhost(name) => AddressClass::Loopback,
            Some(Host::Domain(name)) => {
                let mut found = tokio::net::lookup_host((name, 0)).await.into_iter().flatten().peekable();
                let known = found.peek().is_some();
                let private = known && found.all(|address| AddressClass::of(address.ip()) == AddressClass::Private);
                if private { AddressClass::Private } else { AddressClass::Public }
            }
            None => AddressClass::Public,
        };
        match class {
            AddressClass::Loopback => Reach::Loopback,
            AddressClass::Private => Reach::Private,
            AddressClass::Public | AddressClass::Reserved => Reach::Public,
        }
    }

    pub(super) fn allows(self, address: IpAddr) -> bool {
        match AddressClass::of(address) {
            AddressClass::Public => true,
            AddressClass::Loopback => self == Reach::Loopback,
            AddressClass::Private => self == Reach::Private,
            AddressClass::Reserved => false,
        }
    }

    /// Checks a URL as far as possible without a connection: tokens and codes travel by HTTPS, or stay on this machine.
    pub fn check(self, url: &Url) -> Result<(), FetchError> {
        let refuse = |why: &str| Err(FetchError::Refused(format!("`{}` {why}", origin(url))));
        if !matches!(url.scheme(), "https" | "http") {
            let scheme = proxy_base::foreign_text::visible(url.scheme()).into_owned();
            return Err(FetchError::Refused(format!("the proxy does not request `{scheme}:` URLs")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("has a user name in its URL");
        }
        let loopback = is_loopback(url);
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
            Some(Host::Domain(_)) => None,
            None => return refuse("has no host"),
        };
        if (loopback && self != Reach::Loopback) || address.is_some_and(|address| !self.allows(address)) {
            return refuse("is not a public address");
        }
        if url.scheme() == "http" && !loopback {
            return refuse("must use HTTPS");
        }
        Ok(())
    }
}

/// Whether a URL leads to this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => AddressClass::of(address.into()) == AddressClass::Loopback,
        Some(Host::Ipv6(address)) => AddressClass::of(address.into()) == AddressClass::Loopback,
        Some(Host::Domain(name)) => is_localhost(name),
        None => false,
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// What of a URL may be shown: a path or a query may be a secret.
pub(super) fn origin(url: &Url) -> String {
    proxy_base::foreign_text::visible(&url.origin().ascii_serialization()).into_owned()
}

/// Resolves names to addresses within reach only, so that the check holds for the connection itself.
pub(super) struct WithinReach {
    pub(super) reach: Reach,
    /// The hosts of HTTP proxies, which the user has named.
    pub(super) proxies: Vec<String>,
}

impl Resolve for WithinReach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = (!self.proxies.iter().any(|proxy| proxy.eq_ignore_ascii_case(name.as_str()))).then_some(self.reach);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let is_within = |address: &SocketAddr| reach.is_none_or(|reach| reach.allows(address.ip()));
            let within: Vec<SocketAddr> = found.iter().copied().filter(is_within).collect();
            if within.is_empty() && !found.is_empty() {
                let name = proxy_base::foreign_text::visible(name.as_str()).into_owned();
                return Err(OutOfReach(format!("`{name}` has no public address")).into());
            }
            Ok(Box::new(within.into_iter()) as Addrs)
        })
    }
}

/// An error of the resolver, recognized by its type in the chain of causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct OutOfReach(pub(super) String);

/// The hosts in the variables that name HTTP proxies.
pub(super) fn proxy_hosts() -> Vec<String> {
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .filter_map(|value| Url::parse(&value).or_else(|_| Url::parse(&format!("http://{value}"))).ok())
        .filter_map(|url| url.host_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn reach(url: &str) -> Reach {
        Reach::of(&Url::parse(url).unwrap()).await
    }

    #[tokio::test]
    async fn a_server_leads_only_to_addresses_of_its_own_kind() {
        assert_eq!(reach("http://127.0.0.1:1/mcp").await, Reach::Loopback);
        assert_eq!(reach("http://localhost:1/mcp").await, Reach::Loopback);
        assert_eq!(reach("https://10.1.2.3/mcp").await, Reach::Private);
        assert_eq!(reach("https://8.8.8.8/mcp").await, Reach::Public);
        assert_eq!(reach("https://169.254.169.254/mcp").await, Reach::Public);
    }

    #[test]
    fn what_may_be_requested_depends_on_the_server() {
        let check = |reach: Reach, url: &str| reach.check(&Url::parse(url).unwrap()).map_err(|error| error.to_string());
        for reach in [Reach::Public, Reach::Private, Reach::Loopback] {
            assert_eq!(check(reach, "https://as.example/token"), Ok(()));
            for url in [
                "http://as.example/t",
                "https://169.254.169.254/",
                "file:///etc/passwd",
                "https://a:b@h/",
                "javascript:x",
            ] {
                assert!(check(reach, url).is_err(), "{reach:?} {url}");
            }
        }
        assert!(check(Reach::Public, "https://10.0.0.1/").is_err());
        assert!(check(Reach::Loopback, "https://10.0.0.1/").is_err());
        assert_eq!(check(Reach::Private, "https://10.0.0.1/"), Ok(()));
        assert!(check(Reach::Private, "http://10.0.0.1/").is_err());
        for url in ["http://localhost:1/", "http://127.0.0.1:1/", "https://[::1]/"] {
            assert_eq!(check(Reach::Loopback, url), Ok(()));
            assert!(check(Reach::Public, url).is_err() && check(Reach::Private, url).is_err(), "{url}");
        }
        let shown = check(Reach::Public, "https://10.0.0.1/secret?key=1").unwrap_err();
        assert!(!shown.contains("secret"), "{shown}");
    }
}
