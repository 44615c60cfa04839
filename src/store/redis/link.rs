//! The connection to a Redis: made at the first use, made again when it is lost, and never waited for long.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisError, RedisResult};

use crate::store::StoreError;
use crate::store::home::Outcome;

/// How long one operation may take in all, with another try where there is one.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a connection may take to be made, and one answer to come.
const STEP: Duration = Duration::from_secs(2);

/// Whether an operation may be tried once more when the connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Done twice it is as if done once, or nearly so.
    Always,
    IfNothingWasSent,
}

pub(super) struct Link {
    /// Without a password.
    name: String,
    client: Client,
    manager: Mutex<Option<ConnectionManager>>,
}

impl Link {
    pub(super) fn new(address: &str) -> Outcome<Self> {
        let wrong = |error: RedisError| StoreError::Address { shown: shown(address), reason: reason(&error) };
        let info = address.into_connection_info().map_err(wrong)?;
        let name = match info.addr() {
            ConnectionAddr::Unix(path) => format!("unix://{}", path.display()),
            ConnectionAddr::TcpTls { host, port, .. } => {
                format!("rediss://{host}:{port}/{}", info.redis_settings().db())
            }
            address => format!("redis://{address}/{}", info.redis_settings().db()),
        };
        // With this protocol the manager hears of a lost connection at once, not with the next request.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let client = Client::open(info.set_redis_settings(settings)).map_err(wrong)?;
        Ok(Link { name, client, manager: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs an operation over the connection, within the time that everything has.
    pub(super) async fn run<T, F, Fut>(&self, again: Again, operation: F) -> Outcome<T>
    where
        F: Fn(ConnectionManager) -> Fut,
        Fut: Future<Output = RedisResult<T>>,
    {
        let tried = async {
            match operation(self.manager()?).await {
                Err(error) if may_repeat(&error, again) => operation(self.manager()?).await,
                outcome => outcome,
            }
        };
        match tokio::time::timeout(PATIENCE, tried).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                if error.is_timeout() {
                    self.forget_connection();
                }
                Err(self.problem(&error))
            }
            Err(_) => {
                self.forget_connection();
                Err(self.unavailable(format!("no answer within {} seconds", PATIENCE.as_secs())))
            }
        }
    }

    fn manager(&self) -> RedisResult<ConnectionManager> {
        let mut kept = self.manager.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(manager) = kept.as_ref() {
            return Ok(manager.clone());
        }
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(STEP))
            .set_response_timeout(Some(STEP))
            .set_number_of_retries(1)
            .set_min_delay(Duration::from_millis(50));
        let manager = ConnectionManager::new_lazy_with_config(self.client.clone(), config)?;
        Ok(kept.insert(manager).clone())
    }

    /// The next use makes a new one: over a connection whose other end vanished nothing would ever come.
    fn forget_connection(&self) {
        self.manager.lock().unwrap_or_else(PoisonError::into_inner).take();
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

/// A refused connection may be the memory of an earlier attempt, and nothing went over it.
fn may_repeat(error: &RedisError, again: Again) -> bool {
    error.is_connection_refusal() || (again == Again::Always && error.is_connection_dropped())
}

/// One line. Redis does not repeat what was sent to it, least of all a password.
fn reason(error: &RedisError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// An address that could not be understood, without what may be a password.
fn shown(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{}", place.split(['?', '#']).next().unwrap_or_default())
}
