//! Connections, kept by connection string.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use tokio_postgres::config::Host;
use tokio_postgres::{Config, NoTls};

use crate::reach::address::is_public;
use crate::reach::hosts::{Hosts, Verdict};

/// Connections to one database at once; further calls wait for their turn.
const CONNECTIONS: usize = 8;
/// Databases that connections are kept for.
const KEPT: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// By connection string. Dropping a pool closes what is idle in it.
#[derive(Default)]
pub struct Pools(Mutex<HashMap<String, Pool>>);

impl fmt::Debug for Pools {
    /// Without its keys: they hold passwords.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Pools")
    }
}

impl Pools {
    pub(super) async fn lease(&self, connection: &str, config: Config) -> Result<Lease, PoolError> {
        let pool = self.pool(connection, config);
        Ok(Lease(Some(pool.get().await?)))
    }

    fn pool(&self, connection: &str, config: Config) -> Pool {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(connection) {
            return pool.clone();
        }
        if pools.len() >= KEPT
            && let Some(idle) = pools.iter().min_by_key(|(_, pool)| pool.status().size).map(|(key, _)| key.clone())
        {
            pools.remove(&idle);
        }
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let builder = Pool::builder(Manager::from_config(config, NoTls, settings)).max_size(CONNECTIONS);
        let builder = builder.runtime(Runtime::Tokio1).create_timeout(Some(CONNECT_TIMEOUT));
        // The only fault a builder knows is a timeout without a runtime, and there is one.
        let Ok(pool) = builder.build() else { unreachable!("a runtime is given") };
        pools.insert(connection.to_owned(), pool.clone());
        pool
    }
}

/// A connection in use. If the call is dropped in the middle, the statement is cancelled and the connection closed.
pub(super) struct Lease(Option<Object>);

impl Lease {
    pub(super) fn done(mut self) {
        self.0.take();
    }
}

impl Deref for Lease {
    type Target = tokio_postgres::Client;

    fn deref(&self) -> &tokio_postgres::Client {
        let Some(object) = &self.0 else { unreachable!("it is there until it is done") };
        object
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(object) = self.0.take() else { return };
        let token = object.cancel_token();
        drop(Object::take(object));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // It may have ended by itself.
                let _ = token.cancel_query(NoTls).await;
            });
        }
    }
}

pub(super) fn parse(connection: &str) -> Result<Config, String> {
    // The cause could quote any part of it.
    let mut config: Config = connection.parse().map_err(|_| {
        "the connection string cannot be read; write `postgresql://user:password@host:5432/database`".to_owned()
    })?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("proxy");
    }
    Ok(config)
}

/// Databases are usually near, so they are open unless the extension names hosts at all.
pub(super) async fn check(config: &Config, hosts: &Hosts) -> Result<(), String> {
    if hosts.is_open() {
        return Ok(());
    }
    for (index, host) in config.get_hosts().iter().enumerate() {
        let port = config.get_ports().get(index).or_else(|| config.get_ports().first()).copied().unwrap_or(5432);
        // A socket is this machine.
        let name = match host {
            Host::Tcp(name) => name.as_str(),
            Host::Unix(_) => "localhost",
        };
        let refused = match hosts.verdict(name, port) {
            Verdict::Named => false,
            Verdict::Refused => true,
            Verdict::PublicOnly => !resolves_to_public(name, port).await,
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
