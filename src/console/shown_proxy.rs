//! The proxy that the page shows, over its control socket. After it exits, the next proxy with the same config replaces it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method};
use parking_lot::Mutex;
use serde_json::Value;

use crate::admin::SOURCE_HEADER;
use proxy_base::control::{Instance, instances};
use proxy_model::CallSource;
use proxy_wire::http::{HttpAnswer, HttpError, SocketClient};

/// The maximum size of an answer or an event.
const MAX_BYTES: usize = 256 << 20;
/// How long to wait for a proxy to report which config it serves.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct ShownProxy {
    /// The folder of the control sockets.
    sockets: PathBuf,
    /// What identifies a successor among other proxies: the config, and the folder in which it was started.
    source: [Value; 2],
    current: Mutex<RunningInstance>,
}

#[derive(Clone)]
struct RunningInstance {
    pid: u32,
    client: SocketClient,
}

/// The answer of the shown proxy, or of its successor.
pub(super) struct ShownAnswer {
    pub(super) pid: u32,
    pub(super) is_new: bool,
    pub(super) answer: HttpAnswer,
}

/// No proxy answers.
pub(super) struct NoAnswer {
    pub(super) pid: u32,
    pub(super) error: HttpError,
}

impl ShownProxy {
    /// # Errors
    /// If the proxy does not report its status.
    pub(super) async fn connect(instance: &Instance, sockets: &Path) -> Result<Self, HttpError> {
        let running = RunningInstance::of(instance);
        let source = running.source().await?;
        Ok(ShownProxy { sockets: sockets.to_owned(), source, current: Mutex::new(running) })
    }

    /// Sends a request to the proxy. If it has exited, this and later requests go to the newest proxy with the same config.
    pub(super) async fn ask(&self, method: Method, target: &str, body: Bytes) -> Result<ShownAnswer, NoAnswer> {
        let RunningInstance { pid, client } = self.current.lock().clone();
        let error = match client.send(method.clone(), target, body.clone()).await {
            Ok(answer) => return Ok(ShownAnswer { pid, is_new: false, answer }),
            Err(error) => error,
        };
        // A request that was sent may have had an effect, so it is not repeated.
        let successor = if matches!(error, HttpError::Connect(_)) { self.successor(pid).await } else { None };
        let Some(RunningInstance { pid, client }) = successor else { return Err(NoAnswer { pid, error }) };
        let answer = client.send(method, target, body).await.map_err(|error| NoAnswer { pid, error })?;
        *self.current.lock() = RunningInstance { pid, client };
        Ok(ShownAnswer { pid, is_new: true, answer })
    }

    async fn successor(&self, ended: u32) -> Option<RunningInstance> {
        let sockets = self.sockets.clone();
        let running = tokio::task::spawn_blocking(move || instances(&sockets)).await.ok()?.ok()?;
        let mut others: Vec<Instance> = running.into_iter().filter(|instance| instance.pid != ended).collect();
        others.sort_by_key(|instance| std::cmp::Reverse((instance.since, instance.pid)));
        for instance in others {
            let running = RunningInstance::of(&instance);
            if running.source().await.is_ok_and(|source| source == self.source) {
                return Some(running);
            }
        }
        None
    }
}

impl RunningInstance {
    fn of(instance: &Instance) -> Self {
        let console = HeaderValue::from_static(CallSource::Console.as_str());
        let client = SocketClient::new(&instance.socket, MAX_BYTES).with_header(SOURCE_HEADER.clone(), console);
        RunningInstance { pid: instance.pid, client }
    }

    async fn source(&self) -> Result<[Value; 2], HttpError> {
        let status = async {
            let mut answer = self.client.get("/status").await?;
            let body = answer.body().await?;
            let status: Value =
                serde_json::from_slice(&body).map_err(|error| HttpError::Broken(format!("no status: {error}")))?;
            Ok([status["config"].clone(), status["folder"].clone()])
        };
        let late = |_| HttpError::Broken(format!("no status within {} s", STATUS_TIMEOUT.as_secs()));
        tokio::time::timeout(STATUS_TIMEOUT, status).await.map_err(late)?
    }
}
