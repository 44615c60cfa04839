//! Checks which databases an extension may connect to, by the same rules as HTTP requests.

use std::net::IpAddr;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::hosts::{HostAccess, Hosts, not_public};
use proxy_base::address::is_public;

/// The name by which `allowed_hosts` allows Unix sockets.
const UNIX_SOCKET: &str = "localhost";

/// Checks the hosts of a connection. If a host may only have public addresses, the connection is bound to the address that
/// was checked: its name may resolve to another one the next time.
pub(super) async fn check(config: &mut Config, hosts: &Hosts) -> Result<(), String> {
    let port =
        |index: usize| config.get_ports().get(index).or_else(|| config.get_ports().first()).copied().unwrap_or(5432);
    // If `hostaddr` is set, the connection goes to that address.
    let addresses = config.get_hostaddrs().to_vec();
    for (index, address) in addresses.iter().enumerate() {
        if access(hosts, &address.to_string(), port(index))? == HostAccess::PublicOnly && !is_public(*address) {
            return Err(not_public(&address.to_string()));
        }
    }
    let mut binds = false;
    for (index, host) in config.get_hosts().iter().enumerate() {
        match (host, access(hosts, name(host), port(index))?) {
            (Host::Unix(_), HostAccess::PublicOnly) => return Err(not_public("a Unix socket")),
            (Host::Tcp(_), HostAccess::PublicOnly) => binds = true,
            _ => {}
        }
    }
    if !binds || !addresses.is_empty() {
        return Ok(());
    }
    // The driver takes addresses for all hosts or for none.
    let mut bound = Vec::new();
    for (index, host) in config.get_hosts().iter().enumerate() {
        let Host::Tcp(name) = host else {
            return Err("a Unix socket and hosts on the internet cannot be in one connection string".to_owned());
        };
        let is_named = access(hosts, name, port(index))? == HostAccess::Named;
        bound.push(resolve(name, port(index), is_named).await?);
    }
    for address in bound {
        config.hostaddr(address);
    }
    Ok(())
}

fn name(host: &Host) -> &str {
    match host {
        Host::Tcp(name) => name,
        Host::Unix(_) => UNIX_SOCKET,
    }
}

fn access(hosts: &Hosts, name: &str, port: u16) -> Result<HostAccess, String> {
    match hosts.access(&name.to_lowercase(), port) {
        HostAccess::Denied => {
            let allowed = hosts.rendered();
            Err(format!("host `{name}` (port {port}) is not in `allowed_hosts` of the extension: [{allowed}]"))
        }
        access => Ok(access),
    }
}

/// An address of a host; unless the extension names the host, a public one.
async fn resolve(name: &str, port: u16, is_named: bool) -> Result<IpAddr, String> {
    let found = tokio::net::lookup_host((name, port)).await;
    let found = found.map_err(|error| format!("cannot resolve the host `{name}`: {error}"))?;
    chosen(found.map(|address| address.ip()), is_named).ok_or_else(|| not_public(name))
}

/// The same address in whatever order a name server lists them: each address has a connection pool of its own.
fn chosen(addresses: impl Iterator<Item = IpAddr>, is_named: bool) -> Option<IpAddr> {
    addresses.filter(|address| is_named || is_public(*address)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn checked(connection: &str, allowed: Option<&[&str]>) -> Result<Vec<IpAddr>, String> {
        let allowed = allowed.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
        let hosts = Hosts::parse(allowed.as_deref()).unwrap();
        let mut config: Config = connection.parse().unwrap();
        check(&mut config, &hosts).await.map(|()| config.get_hostaddrs().to_vec())
    }

    #[tokio::test]
    async fn without_a_list_only_public_addresses_are_reachable_and_connections_are_bound_to_them() {
        for inward in [
            "postgresql://ann@127.0.0.1/x",
            "postgresql://ann@localhost/x",
            "postgresql://ann@[::1]/x",
            "postgresql://ann@169.254.169.254/x",
            "postgresql://ann@10.0.0.1/x",
            "host=example.com hostaddr=127.0.0.1",
            "host=1.1.1.1,127.0.0.1",
            "host=/var/run/postgresql",
        ] {
            for allowed in [None, Some(["*"].as_slice())] {
                let refused = checked(inward, allowed).await.unwrap_err();
                assert!(refused.contains("is not a public address"), "{inward}: {refused}");
            }
        }
        let bound = checked("host=1.1.1.1,8.8.8.8", None).await.unwrap();
        assert_eq!(bound, ["1.1.1.1".parse::<IpAddr>().unwrap(), "8.8.8.8".parse().unwrap()]);
        assert_eq!(checked("host=a.invalid hostaddr=1.1.1.1", None).await.unwrap().len(), 1);
    }

    #[test]
    fn a_name_with_several_addresses_always_has_the_same_one() {
        let listed: Vec<IpAddr> = ["9.9.9.9", "10.0.0.1", "1.1.1.1"].map(|text| text.parse().unwrap()).to_vec();
        let turned: Vec<IpAddr> = listed.iter().rev().copied().collect();
        for order in [listed, turned] {
            assert_eq!(chosen(order.iter().copied(), false), "1.1.1.1".parse().ok());
            assert_eq!(chosen(order.into_iter().filter(|address| !is_public(*address)), false), None);
        }
    }

    #[tokio::test]
    async fn a_named_host_is_reachable_at_any_address() {
        assert_eq!(checked("host=127.0.0.1", Some(&["127.0.0.1"])).await, Ok(Vec::new()));
        assert_eq!(checked("host=LOCALHOST", Some(&["localhost"])).await, Ok(Vec::new()));
        assert_eq!(checked("host=/tmp", Some(&["localhost"])).await, Ok(Vec::new()));
        let both = checked("host=127.0.0.1,1.1.1.1", Some(&["127.0.0.1", "*"])).await.unwrap();
        assert_eq!(both, ["127.0.0.1".parse::<IpAddr>().unwrap(), "1.1.1.1".parse().unwrap()]);
        assert!(checked("host=/tmp,1.1.1.1", Some(&["localhost", "*"])).await.is_err());
        let refused = checked("host=127.0.0.1", Some(&["db.test"])).await.unwrap_err();
        assert!(refused.contains("is not in `allowed_hosts` of the extension: [\"db.test\"]"), "{refused}");
    }
}
