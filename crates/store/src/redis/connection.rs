//! The connections to Redis: opened by the first operation, reopened after a loss, with a timeout for every operation.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline, ProtocolVersion};
use redis::{RedisError, RedisFuture, RedisResult, Value};

use crate::StoreError;
use crate::driver::Outcome;
use proxy_fiber::{PerThread, serving_thread};

/// Timeout of an operation, including a retry.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout for connecting, and for a single reply.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether an operation may be retried after the connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryPolicy {
    /// The operation is idempotent, or nearly so.
    Always,
    /// Retry only if nothing can have reached the server.
    IfNotSent,
}

/// What connects: to one server, or to the nodes of a cluster.
#[derive(Clone)]
enum RedisClient {
    Single(Box<Client>),
    Cluster(Box<ClusterClient>),
}

/// A connection that its clones share.
#[derive(Clone)]
pub(super) enum SharedConnection {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl ConnectionLike for SharedConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            SharedConnection::Single(connection) => connection.req_packed_command(command),
            SharedConnection::Cluster(connection) => connection.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            SharedConnection::Single(connection) => connection.req_packed_commands(pipeline, offset, count),
            SharedConnection::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            SharedConnection::Single(connection) => connection.get_db(),
            SharedConnection::Cluster(connection) => connection.get_db(),
        }
    }
}

impl RedisClient {
    async fn connect(&self, reply_timeout: Option<Duration>) -> RedisResult<SharedConnection> {
        match self {
            RedisClient::Single(client) => {
                let config = ConnectionManagerConfig::new()
                    .set_connection_timeout(Some(STEP_TIMEOUT))
                    .set_response_timeout(reply_timeout)
                    .set_number_of_retries(1)
                    .set_min_delay(Duration::from_millis(50));
                ConnectionManager::new_lazy_with_config(Client::clone(client), config).map(SharedConnection::Single)
            }
            RedisClient::Cluster(client) => {
                let config = redis::cluster::ClusterConfig::new()
                    .set_connection_timeout(STEP_TIMEOUT)
                    .set_response_timeout(reply_timeout.unwrap_or(Duration::from_secs(3600)));
                client.get_async_connection_with_config(config).await.map(SharedConnection::Cluster)
            }
        }
    }
}

pub(super) struct RedisConnection {
    /// The address without a password.
    name: String,
    client: RedisClient,
    /// Each thread has its own: a reply then wakes no other thread than the one that waits for it.
    connections: PerThread<Mutex<Option<SharedConnection>>>,
    errors: AtomicU64,
}

impl RedisConnection {
    pub(super) fn new(address: &str) -> Outcome<Self> {
        let wrong = |error: RedisError| StoreError::Address { shown: redacted(address), reason: reason(&error) };
        let (name, client) = match cluster_nodes(address) {
            Some(nodes) => cluster(&nodes).map_err(wrong)?,
            None => single(address).map_err(wrong)?,
        };
        Ok(RedisConnection { name, client, connections: PerThread::default(), errors: AtomicU64::new(0) })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How many operations have failed.
    pub(super) fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// A connection of its own for a command that waits for as long as it says itself: on the shared one, all other commands
    /// would wait for it.
    pub(super) async fn waiting(&self) -> Outcome<SharedConnection> {
        self.client.connect(None).await.map_err(|error| self.problem(&error))
    }

    /// Runs an operation over the connection, within [`OPERATION_TIMEOUT`].
    pub(super) async fn run<T, F, Fut>(&self, retry: RetryPolicy, operation: F) -> Outcome<T>
    where
        F: Fn(SharedConnection) -> Fut,
        Fut: Future<Output = RedisResult<T>>,
    {
        let tried = async {
            match operation(self.connection().await?).await {
                Err(error) if is_retryable(&error, retry) => operation(self.connection().await?).await,
                outcome => outcome,
            }
        };
        let outcome = tokio::time::timeout(OPERATION_TIMEOUT, tried).await;
        if !matches!(outcome, Ok(Ok(_))) {
            self.errors.fetch_add(1, Relaxed);
        }
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                if error.is_timeout() {
                    self.forget_connection();
                }
                Err(self.problem(&error))
            }
            Err(_) => {
                self.forget_connection();
                Err(self.unavailable(format!("no reply within {} s (timeout)", OPERATION_TIMEOUT.as_secs())))
            }
        }
    }

    async fn connection(&self) -> RedisResult<SharedConnection> {
        let thread = serving_thread();
        if let Some(connection) = self.connections.of(thread).lock().as_ref() {
            return Ok(connection.clone());
        }
        // Two operations may connect at once; one of the connections is closed after its operation.
        let connection = self.client.connect(Some(STEP_TIMEOUT)).await?;
        Ok(self.connections.of(thread).lock().get_or_insert(connection).clone())
    }

    /// Makes the next operation open a new connection: a half-open one would never deliver a reply.
    fn forget_connection(&self) {
        self.connections.of(serving_thread()).lock().take();
    }

    pub(super) fn problem(&self, error: &RedisError) -> StoreError {
        if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() || error.is_cluster_error() {
            return self.unavailable(reason(error));
        }
        StoreError::Refused { store: self.name.clone(), reason: reason(error) }
    }

    fn unavailable(&self, reason: String) -> StoreError {
        StoreError::Unavailable { store: self.name.clone(), reason }
    }
}

/// The URLs of the nodes that a cluster's address names: `redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT`.
fn cluster_nodes(address: &str) -> Option<Vec<String>> {
    let (scheme, rest) = address.split_once("://")?;
    let scheme = match scheme {
        "redis-cluster" => "redis",
        "rediss-cluster" => "rediss",
        _ => return None,
    };
    let (user, hosts) = rest.rsplit_once('@').map_or((None, rest), |(user, hosts)| (Some(user), hosts));
    let url = |host: &str| match user {
        Some(user) => format!("{scheme}://{user}@{host}"),
        None => format!("{scheme}://{host}"),
    };
    Some(hosts.split(',').map(|host| url(host.trim())).collect())
}

fn cluster(nodes: &[String]) -> RedisResult<(String, RedisClient)> {
    let mut hosts = Vec::new();
    let mut is_encrypted = false;
    for node in nodes {
        let info = node.as_str().into_connection_info()?;
        is_encrypted = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        hosts.push(info.addr().to_string());
    }
    let scheme = if is_encrypted { "rediss-cluster" } else { "redis-cluster" };
    let client = ClusterClient::builder(nodes.iter().map(String::as_str)).build()?;
    Ok((format!("{scheme}://{}", hosts.join(",")), RedisClient::Cluster(Box::new(client))))
}

fn single(address: &str) -> RedisResult<(String, RedisClient)> {
    let info = address.into_connection_info()?;
    let name = match info.addr() {
        ConnectionAddr::Unix(path) => format!("unix://{}", path.display()),
        ConnectionAddr::TcpTls { host, port, .. } => {
            format!("rediss://{host}:{port}/{}", info.redis_settings().db())
        }
        address => format!("redis://{address}/{}", info.redis_settings().db()),
    };
    // With RESP3 the manager notices a lost connection immediately, and not only with the next request.
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Ok((name, RedisClient::Single(Box::new(Client::open(info.set_redis_settings(settings))?))))
}

/// A refused connection may be the outcome of an earlier attempt, and nothing was sent over it, so it is always
/// retried.
fn is_retryable(error: &RedisError, retry: RetryPolicy) -> bool {
    error.is_connection_refusal() || (retry == RetryPolicy::Always && error.is_connection_dropped())
}

/// The first line of an error. Redis errors do not contain the request, so no password can leak.
fn reason(error: &RedisError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// An invalid address without the part that may contain a password.
fn redacted(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    format!("{scheme}://{}", host.split(['?', '#']).next().unwrap_or_default())
}
