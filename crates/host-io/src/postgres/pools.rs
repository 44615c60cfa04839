//! Connection pools by connection string.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use parking_lot::Mutex;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection_string::ConnectionTarget;
use super::error_reporter::ErrorReporter;
use super::tls::Trust;

/// Maximum number of connections to one database; further calls queue.
const MAX_CONNECTIONS: usize = 8;
/// Maximum number of pools.
const MAX_POOLS: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The pools of all extensions. Dropping a pool closes its idle connections.
#[derive(Default)]
pub struct Pools(Mutex<HashMap<PoolKey, Connections>>);

/// What makes a connection another one, apart from the name of its host.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PoolKey {
    connection: String,
    /// With the resolved CA file, because each extension resolves paths in its own folder.
    trust: Trust,
    /// The addresses that were checked, because a name may have others the next time.
    addresses: Vec<IpAddr>,
}

#[derive(Clone)]
struct Connections {
    pool: Pool,
    tls: MakeRustlsConnect,
}

impl fmt::Debug for Pools {
    /// Omits the keys, which contain passwords.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Pools")
    }
}

impl Pools {
    pub(super) async fn lease(
        &self,
        connection: &str,
        target: ConnectionTarget,
        errors: &ErrorReporter,
    ) -> Result<Lease, String> {
        let Connections { pool, tls } = self.connections(connection, target)?;
        let connection = pool.get().await.map_err(|error| errors.pool(&error))?;
        Ok(Lease { connection: Some(connection), tls })
    }

    fn connections(&self, connection: &str, target: ConnectionTarget) -> Result<Connections, String> {
        let addresses = target.config.get_hostaddrs().to_vec();
        let key = PoolKey { connection: connection.to_owned(), trust: target.trust, addresses };
        let mut pools = self.0.lock();
        if let Some(known) = pools.get(&key) {
            return Ok(known.clone());
        }
        let tls = key.trust.connector()?;
        if pools.len() >= MAX_POOLS
            && let Some(idle) =
                pools.iter().min_by_key(|(_, pools)| pools.pool.status().size).map(|(key, _)| key.clone())
        {
            pools.remove(&idle);
        }
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let builder =
            Pool::builder(Manager::from_config(target.config, tls.clone(), settings)).max_size(MAX_CONNECTIONS);
        let builder = builder.runtime(Runtime::Tokio1).create_timeout(Some(CONNECT_TIMEOUT));
        // The builder fails only for a timeout without a runtime, and there is one.
        let Ok(pool) = builder.build() else { unreachable!("the builder has a runtime") };
        let connections = Connections { pool, tls };
        pools.insert(key, connections.clone());
        Ok(connections)
    }
}

/// A connection in use. If the call is dropped in the middle, the statement is cancelled and the connection closed.
pub(super) struct Lease {
    /// `None` after [`Lease::release`].
    connection: Option<Object>,
    tls: MakeRustlsConnect,
}

impl Lease {
    /// Returns the connection to the pool.
    pub(super) fn release(mut self) {
        self.connection.take();
    }
}

impl Deref for Lease {
    type Target = tokio_postgres::Client;

    fn deref(&self) -> &tokio_postgres::Client {
        let Some(object) = &self.connection else { unreachable!("the lease has a connection until it is released") };
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
                // The statement may have finished already.
                let _ = token.cancel_query(tls).await;
            });
        }
    }
}

/// Sets defaults for what the connection string omits.
pub(super) fn complete(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("proxy");
    }
}
