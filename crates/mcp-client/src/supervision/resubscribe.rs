//! Keeps the subscriptions on a connected server in sync with the clients' subscriptions, as the server's era requires.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::call::{CallError, TimeLimit};
use crate::connection::{Connection, ConnectionFailure};
use crate::transport::{ServerSubscriptions, TransportError};
use proxy_base::backoff::Backoff;
use proxy_json::Raw;
use proxy_wire::{RpcError, code};

const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest delay between two listen requests. A request that lasted longer resets the backoff.
const MAX_DELAY: Duration = Duration::from_secs(30);

type Uri = Arc<str>;

/// Keeps the subscriptions on one connection.
pub(super) struct Resubscriber {
    server: Arc<str>,
    timeout: Duration,
    subscriptions: Arc<ServerSubscriptions>,
    connection: Arc<Connection>,
}

/// Marks all subscriptions as lost when the connection is no longer used.
struct SuspendOnDrop<'a>(&'a ServerSubscriptions);

impl Drop for SuspendOnDrop<'_> {
    fn drop(&mut self) {
        self.0.suspend();
    }
}

/// A resource, and whether the server has a subscription to it now. `None` if the connection is lost.
type RequestOutcome = (Uri, Option<bool>);

impl Resubscriber {
    pub(super) fn new(
        server: &Arc<str>,
        timeout: Duration,
        subscriptions: &Arc<ServerSubscriptions>,
        connection: &Arc<Connection>,
    ) -> Self {
        let (subscriptions, connection) = (Arc::clone(subscriptions), Arc::clone(connection));
        Resubscriber { server: Arc::clone(server), timeout, subscriptions, connection }
    }

    /// Runs until the task is aborted, which happens when the connection ends.
    pub(super) async fn run(self) {
        let subscriptions = &self.subscriptions;
        let _suspend = SuspendOnDrop(subscriptions);
        subscriptions.request_all();
        if !self.connection.supports_subscriptions() {
            loop {
                for uri in subscriptions.changed().await {
                    subscriptions.settle(&uri, Err(CallError::no_subscriptions(&self.server)));
                }
            }
        } else if self.connection.is_stateless() {
            self.listen().await;
        } else {
            self.subscribe_each().await;
        }
        // The connection is lost, and this task is about to be aborted.
        std::future::pending().await
    }

    /// Session-based servers: one request per resource. Requests for different resources run concurrently, those for one
    /// resource one after the other.
    async fn subscribe_each(&self) {
        let (mut active, mut busy) = (HashSet::<Uri>::new(), HashSet::<Uri>::new());
        let mut requests: FuturesUnordered<BoxFuture<'_, RequestOutcome>> = FuturesUnordered::new();
        loop {
            let changed: HashSet<Uri> = tokio::select! {
                changed = self.subscriptions.changed() => changed,
                Some((uri, is_subscribed)) = requests.next() => {
                    busy.remove(&uri);
                    match is_subscribed {
                        Some(true) => active.insert(uri.clone()),
                        Some(false) => active.remove(&uri),
                        None => return,
                    };
                    HashSet::from([uri])
                }
            };
            for uri in changed {
                if busy.contains(&uri) {
                    continue;
                }
                match (self.subscriptions.is_desired(&uri), active.contains(&uri)) {
                    // A client subscribed before the server was told that the last one had left.
                    (true, true) => {
                        self.subscriptions.settle(&uri, Ok(()));
                        continue;
                    }
                    (true, false) => requests.push(Box::pin(self.subscribe_to(uri.clone()))),
                    (false, true) => requests.push(Box::pin(self.unsubscribe_from(uri.clone()))),
                    (false, false) => continue,
                }
                busy.insert(uri);
            }
        }
    }

    async fn subscribe_to(&self, uri: Uri) -> RequestOutcome {
        let outcome = match self.request("resources/subscribe", &uri).await {
            None => Err(self.timeout_error()),
            Some(Err(error)) if is_loss(&error) => return (uri, None),
            Some(outcome) => outcome.map(drop).map_err(|error| self.refusal_error(error)),
        };
        self.log_refusal(&uri, outcome.as_ref().err());
        let subscribed = outcome.is_ok();
        self.subscriptions.settle(&uri, outcome);
        (uri, Some(subscribed))
    }

    async fn unsubscribe_from(&self, uri: Uri) -> RequestOutcome {
        // A failure is ignored: further updates have no listener.
        match self.request("resources/unsubscribe", &uri).await {
            Some(Err(error)) if is_loss(&error) => (uri, None),
            _ => (uri, Some(false)),
        }
    }

    async fn request(&self, method: &str, uri: &str) -> Option<Result<Raw, TransportError>> {
        let body = proxy_json::raw(&json!({ "uri": uri }));
        tokio::time::timeout(self.timeout, self.connection.request(method, &body)).await.ok()
    }

    /// Stateless servers: one listen request for all resources. After a change a new request is opened before the old one is
    /// dropped, so that no update is missed in between.
    async fn listen(&self) {
        let (mut open, mut backoff) = (None::<OpenListen>, Backoff::new(FIRST_DELAY, MAX_DELAY));
        loop {
            let mut must_retry = false;
            let desired = self.subscriptions.desired();
            if desired.is_empty() {
                open = None;
            } else if open.as_ref().is_some_and(|open| open.uris == desired) {
                // A client may have subscribed before the server was told that the last one had left.
                for uri in &desired {
                    self.subscriptions.settle(uri, Ok(()));
                }
            } else {
                match self.open(&desired).await {
                    Ok(listen) => {
                        for uri in &desired {
                            let accepted = listen.uris.contains(uri);
                            let outcome = if accepted { Ok(()) } else { Err(self.not_acknowledged(uri)) };
                            self.log_refusal(uri, outcome.as_ref().err());
                            self.subscriptions.settle(uri, outcome);
                        }
                        open = Some(listen).filter(|listen| !listen.uris.is_empty());
                    }
                    Err(error) => {
                        tracing::debug!(server = %self.server, %error, "cannot subscribe to resources");
                        must_retry = self.subscriptions.fail(&desired, &error);
                    }
                }
            }
            let started = tokio::time::Instant::now();
            let ended = match &mut open {
                _ if must_retry => true,
                Some(open) => tokio::select! {
                    _ = self.subscriptions.changed() => false,
                    _ = &mut open.request => true,
                },
                None => {
                    self.subscriptions.changed().await;
                    false
                }
            };
            if ended {
                tracing::debug!(server = %self.server, "subscribing to resources again");
                self.subscriptions.suspend();
                open = None;
                if started.elapsed() > MAX_DELAY {
                    backoff.reset();
                }
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    }

    async fn open(&self, desired: &HashSet<Uri>) -> Result<OpenListen, CallError> {
        let uris: Vec<&str> = desired.iter().map(AsRef::as_ref).collect();
        let body = proxy_json::raw(&json!({"notifications": {"resourceSubscriptions": uris}}));
        let (id, connection) = (self.connection.next_id(), Arc::clone(&self.connection));
        let acknowledgment = connection.signals().acknowledgment(id);
        let mut request = ListenRequest(tokio::spawn(async move { connection.listen_with_id(id, &body).await }));
        let acknowledged = tokio::select! {
            biased;
            Ok(uris) = acknowledgment => uris,
            ended = &mut request => return Err(match ended {
                Err(error) => self.refusal_error(error),
                Ok(()) => CallError::Protocol {
                    backend: Arc::clone(&self.server),
                    reason: "it ended `subscriptions/listen` without an acknowledgment".to_owned(),
                },
            }),
            () = tokio::time::sleep(self.timeout) => return Err(self.timeout_error()),
        };
        let uris = desired
            .iter()
            .filter(|uri| acknowledged.iter().any(|acknowledged| *acknowledged == ***uri))
            .cloned()
            .collect();
        Ok(OpenListen { uris, request })
    }

    /// Translates the error of a refused subscription for clients.
    fn refusal_error(&self, error: TransportError) -> CallError {
        match error {
            // It declared the capability, but does not have the method.
            TransportError::Rpc(error) if error.code() == code::METHOD_NOT_FOUND => {
                CallError::no_subscriptions(&self.server)
            }
            error => match self.connection.failure(error) {
                ConnectionFailure::Final(error) => error,
                ConnectionFailure::Stale => CallError::Down {
                    backend: Arc::clone(&self.server),
                    reason: "its session or protocol version changed".to_owned(),
                },
            },
        }
    }

    fn not_acknowledged(&self, uri: &str) -> CallError {
        let message = format!("server `{}` does not accept a subscription to {uri}", self.server);
        CallError::Rpc(RpcError::invalid_params(&message))
    }

    fn timeout_error(&self) -> CallError {
        CallError::Timeout { backend: Arc::clone(&self.server), after: self.timeout, limit: TimeLimit::Idle }
    }

    fn log_refusal(&self, uri: &str, refused: Option<&CallError>) {
        if let Some(error) = refused {
            tracing::debug!(server = %self.server, uri, %error, "a subscription was refused");
        }
    }
}

/// Whether the connection is lost. Its subscriptions are then restored on the next connection.
fn is_loss(error: &TransportError) -> bool {
    matches!(error, TransportError::Closed(_) | TransportError::SessionExpired | TransportError::LoginNeeded(_))
}

/// An open listen request and the resources that the server acknowledged for it.
struct OpenListen {
    uris: HashSet<Uri>,
    request: ListenRequest,
}

/// A running listen request. Dropping it cancels the request.
struct ListenRequest(JoinHandle<Result<(), TransportError>>);

impl Future for ListenRequest {
    type Output = Result<(), TransportError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(context).map(|joined| joined.unwrap_or(Ok(())))
    }
}

impl Drop for ListenRequest {
    fn drop(&mut self) {
        self.0.abort();
    }
}
