//! The shared connections, and who may use which. There are two sets: one resolves names to public addresses only, the
//! other is for hosts that an extension names. So a connection that one extension may have is never lent to another
//! that may not, and a name that changes its address between the check and the connection gains nothing.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};

use crate::host_io::address::is_public;
use crate::host_io::hosts::{Hosts, Verdict};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const AGENT: &str = concat!("starlark-mcp-proxy/", env!("CARGO_PKG_VERSION"));

/// Made when they are first needed: most proxies never do.
#[derive(Debug, Default)]
pub struct Clients {
    public: OnceLock<Client>,
    named: OnceLock<Client>,
}

impl Clients {
    /// The client that may go to this URL, or why none may.
    pub(super) fn towards(&self, url: &Url, hosts: &Hosts) -> Result<Client, String> {
        match way_to(url, hosts)? {
            Way::Named => made(&self.named, false),
            Way::Public => made(&self.public, true),
        }
    }
}

/// How a URL may be reached.
pub(super) enum Way {
    /// Wherever its host is.
    Named,
    /// At public addresses only.
    Public,
}

/// How a URL may be reached, or why it may not.
pub(super) fn way_to(url: &Url, hosts: &Hosts) -> Result<Way, String> {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or_default();
    match hosts.verdict(host, port) {
        Verdict::Named => Ok(Way::Named),
        Verdict::Refused => Err(format!(
            "the host `{host}` (port {port}) is not in `allowed_hosts` of the extension: [{}]",
            hosts.shown()
        )),
        Verdict::PublicOnly => match host.parse::<IpAddr>() {
            Ok(address) if !is_public(address) => Err(not_public(host)),
            _ => Ok(Way::Public),
        },
    }
}

fn made(slot: &OnceLock<Client>, public_only: bool) -> Result<Client, String> {
    if let Some(client) = slot.get() {
        return Ok(client.clone());
    }
    let builder = Client::builder()
        // Followed by hand: each step is checked.
        .redirect(reqwest::redirect::Policy::none())
        // A proxy would resolve names where nobody checks them.
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(AGENT);
    let builder = if public_only { builder.dns_resolver(PublicOnly) } else { builder };
    let client = builder.build().map_err(|error| format!("HTTP cannot be used: {error}"))?;
    Ok(slot.get_or_init(|| client).clone())
}

/// What is told of a host that is not of the public internet.
fn not_public(host: &str) -> String {
    format!(
        "`{host}` is not a public address; an extension reaches it only if `allowed_hosts` of Extension() names the host"
    )
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

/// Found again in the chain of causes, to be told as it is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotPublic(String);
