//! Connections, kept by connection string.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::Fault;
use super::target::Target;
use super::tls::Trust;
use crate::host_io::address::is_public;
use crate::host_io::hosts::{Hosts, Verdict};

/// Connections to one database at once; further calls wait for their turn.
const CONNECTIONS: usize = 8;
/// Databases that connections are kept for.
const KEPT: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Dropping a pool closes what is idle in it.
#[derive(Default)]
pub struct Pools(Mutex<HashMap<Key, Connections>>);

/// The connection string, and what it means by its file of authorities: each extension has its own folder.
type Key = (String, Trust);

#[derive(Clone)]
struct Connections {
    pool: Pool,
    tls: MakeRustlsConnect,
}

impl fmt::Debug for Pools {
    /// Without its keys: they hold passwords.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Pools")
    }
}

impl Pools {
    pub(super) async fn lease(&self, connection: &str, target: Target, fault: &Fault) -> Result<Lease, String> {
        let Connections { pool, tls } = self.connections(connection, target)?;
        let connection = pool.get().await.map_err(|error| fault.pool(&error))?;
        Ok(Lease { connection: Some(connection), tls })
    }

    fn connections(&self, connection: &str, target: Target) -> Result<Connections, String> {
        let key = (connection.to_owned(), target.trust);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&key) {
            return Ok(known.clone());
        }
        let tls = key.1.connector()?;
        if kept.len() >= KEPT
            && let Some(idle) = kept.iter().min_by_key(|(_, kept)| kept.pool.status().size).map(|(key, _)| key.clone())
        {
            kept.remove(&idle);
        }
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let builder = Pool::builder(Manager::from_config(target.config, tls.clone(), settings)).max_size(CONNECTIONS);
        let builder = builder.runtime(Runtime::Tokio1).create_timeout(Some(CONNECT_TIMEOUT));
        // The only fault a builder knows is a timeout without a runtime, and there is one.
        let Ok(pool) = builder.build() else { unreachable!("a runtime is given") };
        let connections = Connections { pool, tls };
        kept.insert(key, connections.clone());
        Ok(connections)
    }
}

/// A connection in use. If the call is dropped in the middle, the statement is cancelled and the connection closed.
pub(super) struct Lease {
    /// There until it is done.
    connection: Option<Object>,
    tls: MakeRustlsConnect,
}

impl Lease {
    pub(super) fn done(mut self) {
        self.connection.take();
    }
}

impl Deref for Lease {
    type Target = tokio_postgres::Client;

    fn deref(&self) -> &tokio_postgres::Client {
        let Some(object) = &self.connection else { unreachable!("it is there until it is done") };
        object
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(object) = self.connection.take() else { return };
        let (token, tls) = (object.cancel_token(), self.tls.clone());
        drop(Object::take(object));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // It may have ended by itself.
                let _ = token.cancel_query(tls).await;
            });
        }
    }
}

/// What the connection string does not say.
pub(super) fn complete(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("proxy");
    }
}

/// Databases are usually near, so they are open unless the extension names hosts at all.
pub(super) async fn check(config: &Config, hosts: &Hosts) -> Result<(), String> {
    if hosts.is_open() {
        return Ok(());
    }
    // A socket is this machine.
    let named = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    });
    // An address beside a name is where the connection goes.
    let addresses = config.get_hostaddrs().iter().map(ToString::to_string);
    let numbered = named.enumerate().chain(addresses.enumerate());
    for (index, name) in numbered {
        let port = config.get_ports().get(index).or_else(|| config.get_ports().first()).copied().unwrap_or(5432);
        let refused = match hosts.verdict(&name, port) {
            Verdict::Named => false,
            Verdict::Refused => true,
            Verdict::PublicOnly => !resolves_to_public(&name, port).await,
        };
        if refused {
            return Err(format!(
                "the host `{name}` (port {port}) is not in `allowed_hosts` of the extension: [{}]",
                hosts.shown()
            ));
        }
    }
    Ok(())
}

async fn resolves_to_public(name: &str, port: u16) -> bool {
    match tokio::net::lookup_host((name, port)).await {
        Ok(mut found) => found.all(|address| is_public(address.ip())),
        Err(_) => false,
    }
}
