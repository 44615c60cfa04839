//! The shared HTTP clients. There are two: one resolves names to public addresses only, the other is for hosts that an
//! extension names. So extensions with different permissions never share a connection, and DNS rebinding between check
//! and connection is impossible.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};

use crate::hosts::{HostAccess, Hosts, not_public};
use proxy_base::address::is_public;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// HTTP clients, created on first use.
#[derive(Debug, Default)]
pub struct HttpClients {
    public: OnceLock<Client>,
    named: OnceLock<Client>,
}

impl HttpClients {
    /// The client for this URL, or an error if the URL is not allowed.
    pub(super) fn client_for(&self, url: &Url, hosts: &Hosts) -> Result<Client, String> {
        match scope_of(url, hosts)? {
            AddressScope::Any => get_or_create(&self.named, false),
            AddressScope::Public => get_or_create(&self.public, true),
        }
    }
}

/// The addresses that a host may resolve to.
pub(super) enum AddressScope {
    /// Any address: the extension names the host.
    Any,
    /// Public addresses only.
    Public,
}

/// The addresses that the host of a URL may resolve to, or an error if the host is not allowed.
pub(super) fn scope_of(url: &Url, hosts: &Hosts) -> Result<AddressScope, String> {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or_default();
    match hosts.access(host, port) {
        HostAccess::Named => Ok(AddressScope::Any),
        HostAccess::Denied => Err(format!(
            "host `{host}` (port {port}) is not in `allowed_hosts` of the extension: [{}]",
            hosts.rendered()
        )),
        HostAccess::PublicOnly => match host.parse::<IpAddr>() {
            Ok(address) if !is_public(address) => Err(not_public(host)),
            _ => Ok(AddressScope::Public),
        },
    }
}

fn get_or_create(slot: &OnceLock<Client>, public_only: bool) -> Result<Client, String> {
    if let Some(client) = slot.get() {
        return Ok(client.clone());
    }
    let builder = Client::builder()
        // Redirects are followed manually, because each target must be checked.
        .redirect(reqwest::redirect::Policy::none())
        // An HTTP proxy would resolve names without the check.
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(proxy_base::PRODUCT);
    let builder = if public_only { builder.dns_resolver(PublicOnly) } else { builder };
    let client = builder.build().map_err(|error| format!("cannot create an HTTP client: {error}"))?;
    Ok(slot.get_or_init(|| client).clone())
}

struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> = found.iter().copied().filter(|address| is_public(address.ip())).collect();
            if public.is_empty() && !found.is_empty() {
                return Err(NotPublic(not_public(name.as_str())).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// An error of the resolver, recognized by its type in the chain of causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotPublic(String);
