//! The connection to Redis: opened by the first operation, reopened after a loss, with a timeout for every operation.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisError, RedisResult};

use crate::StoreError;
use crate::driver::Outcome;

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

pub(super) struct RedisConnection {
    /// The address without a password.
    name: String,
    client: Client,
    manager: Mutex<Option<ConnectionManager>>,
    errors: AtomicU64,
}

impl RedisConnection {
    pub(super) fn new(address: &str) -> Outcome<Self> {
        let wrong = |error: RedisError| StoreError::Address { shown: redacted(address), reason: reason(&error) };
        let info = address.into_connection_info().map_err(wrong)?;
        let name = match info.addr() {
            ConnectionAddr::Unix(path) => format!("unix://{}", path.display()),
            ConnectionAddr::TcpTls { host, port, .. } => {
                format!("rediss://{host}:{port}/{}", info.redis_settings().db())
            }
            address => format!("redis://{address}/{}", info.redis_settings().db()),
        };
        // With RESP3 the manager notices a lost connection immediately, and not only with the next request.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let client = Client::open(info.set_redis_settings(settings)).map_err(wrong)?;
        Ok(RedisConnection { name, client, manager: Mutex::default(), errors: AtomicU64::new(0) })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How many operations have failed.
    pub(super) fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// Runs an operation over the connection, within [`OPERATION_TIMEOUT`].
    pub(super) async fn run<T, F, Fut>(&self, retry: RetryPolicy, operation: F) -> Outcome<T>
    where
        F: Fn(ConnectionManager) -> Fut,
        Fut: Future<Output = RedisResult<T>>,
    {
        let tried = async {
            match operation(self.manager()?).await {
                Err(error) if is_retryable(&error, retry) => operation(self.manager()?).await,
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

    fn manager(&self) -> RedisResult<ConnectionManager> {
        let mut manager_slot = self.manager.lock();
        if let Some(manager) = manager_slot.as_ref() {
            return Ok(manager.clone());
        }
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(STEP_TIMEOUT))
            .set_response_timeout(Some(STEP_TIMEOUT))
            .set_number_of_retries(1)
            .set_min_delay(Duration::from_millis(50));
        let manager = ConnectionManager::new_lazy_with_config(self.client.clone(), config)?;
        Ok(manager_slot.insert(manager).clone())
    }

    /// Makes the next operation open a new connection: a half-open one would never deliver a reply.
    fn forget_connection(&self) {
        self.manager.lock().take();
    }

    fn problem(&self, error: &RedisError) -> StoreError {
        if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() {
            return self.unavailable(reason(error));
        }
        StoreError::Refused { store: self.name.clone(), reason: reason(error) }
    }

    fn unavailable(&self, reason: String) -> StoreError {
        StoreError::Unavailable { store: self.name.clone(), reason }
    }
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
