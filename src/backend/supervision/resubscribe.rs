//! Keeps a connected server's subscriptions as they are wanted, in the way of its era.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::side_connections::Client;
use crate::backend::call::backend_call::CallError;
use crate::backend::connection::established::{Connection, Failure};
use crate::backend::handle::server_handle::Handle;
use crate::backend::transport::any_transport::TransportError;
use crate::backend::transport::subscriptions::{Follower, Listener, Standing, Subscription, Subscriptions};
use crate::json::Raw;
use crate::wire::{RpcError, code};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

type Uri = Arc<str>;

/// Follows a resource of a server, once the server has accepted that, on the connection that the follower's calls take.
pub(crate) async fn subscribe(
    handle: &Handle,
    uri: &str,
    follower: &Follower,
    listener: Listener,
) -> Result<Subscription, CallError> {
    let mut state = handle.state.clone();
    let failures = state.borrow_and_update().failures;
    let main = handle.connection(&CancellationToken::new(), handle.patience(None), None).await?;
    let side = handle.side(&follower.owner, follower.abilities, &main)?;
    let subscriptions = match &side {
        Some(key) => handle.sides.followed(key),
        None => Arc::clone(&handle.subscriptions),
    };
    let (subscription, mut standing) = subscriptions.hold(uri, listener)?;
    if let Some(key) = &side {
        let opened =
            handle.sides.get(key, &Client { gone: follower.gone.clone(), between_calls: None }, main.signals()).await;
        opened.map_err(|unopened| handle.unopened(unopened))?;
    }
    let failed = async {
        while state.changed().await.is_ok() {
            if state.borrow().failures > failures {
                break;
            }
        }
        state.borrow().error.clone()
    };
    let settled = async {
        let settled = standing.wait_for(|standing| !matches!(standing, Standing::Asked)).await;
        settled.map(|standing| standing.clone())
    };
    tokio::select! {
        biased;
        settled = settled => match settled {
            Ok(Standing::Accepted) => Ok(subscription),
            Ok(Standing::Refused(error)) => Err(error),
            _ => Err(handle.down("")),
        },
        error = failed => Err(handle.down(&error)),
        () = handle.stop.cancelled() => Err(handle.down("the proxy is shutting down")),
        () = tokio::time::sleep(handle.patience.quiet) => {
            Err(CallError::Timeout { backend: Arc::clone(&handle.name), after: handle.patience.quiet })
        }
    }
}

/// The server has no such thing.
pub(crate) fn unsupported(server: &str) -> CallError {
    CallError::Rpc(RpcError::invalid_params(&format!("server `{server}` offers no subscriptions to its resources")))
}

/// Runs for as long as the connection lives; its end is the end of what was subscribed on it.
pub(crate) async fn keep(keeper: Keeper) {
    let subscriptions = &keeper.subscriptions;
    let _suspended = Suspended(subscriptions);
    subscriptions.renew();
    if !keeper.connection.offers_subscriptions() {
        loop {
            for uri in subscriptions.changed().await {
                subscriptions.settle(&uri, Err(unsupported(&keeper.server)));
            }
        }
    } else if keeper.connection.is_stateless() {
        keeper.listen().await;
    } else {
        keeper.subscribe().await;
    }
    // The connection is gone, and soon this task with it.
    std::future::pending().await
}

struct Suspended<'a>(&'a Subscriptions);

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        self.0.suspend();
    }
}

/// What it takes to keep the subscriptions on one connection.
pub(crate) struct Keeper {
    server: Arc<str>,
    patience: Duration,
    subscriptions: Arc<Subscriptions>,
    connection: Arc<Connection>,
}

impl Keeper {
    pub(crate) fn new(
        server: &Arc<str>,
        patience: Duration,
        subscriptions: &Arc<Subscriptions>,
        connection: &Arc<Connection>,
    ) -> Self {
        let (subscriptions, connection) = (Arc::clone(subscriptions), Arc::clone(connection));
        Keeper { server: Arc::clone(server), patience, subscriptions, connection }
    }
}

/// Whether the server has the subscription now; none if the connection is gone.
type Done = (Uri, Option<bool>);

impl Keeper {
    /// A session-based server is asked for each resource by itself, one thing after another.
    async fn subscribe(&self) {
        let (mut active, mut busy) = (HashSet::<Uri>::new(), HashSet::<Uri>::new());
        let mut work: FuturesUnordered<BoxFuture<'_, Done>> = FuturesUnordered::new();
        loop {
            let looked_at: HashSet<Uri> = tokio::select! {
                changed = self.subscriptions.changed() => changed,
                Some((uri, subscribed)) = work.next() => {
                    busy.remove(&uri);
                    match subscribed {
                        Some(true) => active.insert(uri.clone()),
                        Some(false) => active.remove(&uri),
                        None => return,
                    };
                    HashSet::from([uri])
                }
            };
            for uri in looked_at {
                if busy.contains(&uri) {
                    continue;
                }
                match (self.subscriptions.wants(&uri), active.contains(&uri)) {
                    // Somebody came before the server was told that the last one had left.
                    (true, true) => {
                        self.subscriptions.settle(&uri, Ok(()));
                        continue;
                    }
                    (true, false) => work.push(Box::pin(self.subscribe_to(uri.clone()))),
                    (false, true) => work.push(Box::pin(self.unsubscribe_from(uri.clone()))),
                    (false, false) => continue,
                }
                busy.insert(uri);
            }
        }
    }

    async fn subscribe_to(&self, uri: Uri) -> Done {
        let outcome = match self.ask("resources/subscribe", &uri).await {
            None => Err(self.late()),
            Some(Err(TransportError::Closed(_) | TransportError::SessionExpired)) => return (uri, None),
            Some(outcome) => outcome.map(drop).map_err(|error| self.refusal(error)),
        };
        self.note(&uri, outcome.as_ref().err());
        let subscribed = outcome.is_ok();
        self.subscriptions.settle(&uri, outcome);
        (uri, Some(subscribed))
    }

    async fn unsubscribe_from(&self, uri: Uri) -> Done {
        // Updates that come all the same find nobody, so a failure is nobody's concern.
        match self.ask("resources/unsubscribe", &uri).await {
            Some(Err(TransportError::Closed(_) | TransportError::SessionExpired)) => (uri, None),
            _ => (uri, Some(false)),
        }
    }

    async fn ask(&self, method: &str, uri: &str) -> Option<Result<Raw, TransportError>> {
        let body = crate::json::raw(&json!({ "uri": uri }));
        tokio::time::timeout(self.patience, self.connection.ask(method, &body)).await.ok()
    }

    /// A stateless server gets one listen for all of them. A change is a new listen, which begins before the old one
    /// ends, so that nothing falls in between.
    async fn listen(&self) {
        let (mut open, mut pause) = (None::<Listen>, FIRST_PAUSE);
        loop {
            let mut again = false;
            let wanted = self.subscriptions.wanted();
            if wanted.is_empty() {
                open = None;
            } else if open.as_ref().is_some_and(|open| open.uris == wanted) {
                // Somebody may have come before the server was told that the last one had left.
                for uri in &wanted {
                    self.subscriptions.settle(uri, Ok(()));
                }
            } else {
                match self.open(&wanted).await {
                    Ok(listen) => {
                        for uri in &wanted {
                            let accepted = listen.uris.contains(uri);
                            let outcome = if accepted { Ok(()) } else { Err(self.not_honoured(uri)) };
                            self.note(uri, outcome.as_ref().err());
                            self.subscriptions.settle(uri, outcome);
                        }
                        open = Some(listen).filter(|listen| !listen.uris.is_empty());
                    }
                    Err(error) => {
                        tracing::debug!(server = %self.server, %error, "resources cannot be subscribed to");
                        again = self.subscriptions.fail(&wanted, &error);
                    }
                }
            }
            let started = tokio::time::Instant::now();
            let ended = match &mut open {
                _ if again => true,
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
                tracing::debug!(server = %self.server, "the subscription to resources has to begin again");
                self.subscriptions.suspend();
                open = None;
                pause = if started.elapsed() > LONGEST_PAUSE { FIRST_PAUSE } else { pause };
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    async fn open(&self, wanted: &HashSet<Uri>) -> Result<Listen, CallError> {
        let uris: Vec<&str> = wanted.iter().map(AsRef::as_ref).collect();
        let body = crate::json::raw(&json!({"notifications": {"resourceSubscriptions": uris}}));
        let (id, connection) = (self.connection.next_id(), Arc::clone(&self.connection));
        let acknowledged = connection.signals().acknowledgment(id);
        let mut request = Listening(tokio::spawn(async move { connection.listen_under(id, &body).await }));
        let honoured = tokio::select! {
            biased;
            Ok(honoured) = acknowledged => honoured,
            ended = &mut request => return Err(match ended {
                Err(error) => self.refusal(error),
                Ok(()) => CallError::Protocol {
                    backend: Arc::clone(&self.server),
                    reason: "it ended a subscription without an acknowledgment".to_owned(),
                },
            }),
            () = tokio::time::sleep(self.patience) => return Err(self.late()),
        };
        let uris = wanted.iter().filter(|uri| honoured.iter().any(|one| *one == ***uri)).cloned().collect();
        Ok(Listen { uris, request })
    }

    /// What a client is told of a refusal.
    fn refusal(&self, error: TransportError) -> CallError {
        match error {
            // It promised, and has no such method all the same.
            TransportError::Rpc(error) if error.code() == code::METHOD_NOT_FOUND => unsupported(&self.server),
            error => match self.connection.failure(error) {
                Failure::Final(error) => error,
                Failure::Stale => CallError::Down {
                    backend: Arc::clone(&self.server),
                    reason: "its session or protocol version changed".to_owned(),
                },
            },
        }
    }

    fn not_honoured(&self, uri: &str) -> CallError {
        let message = format!("server `{}` does not accept a subscription to {uri}", self.server);
        CallError::Rpc(RpcError::invalid_params(&message))
    }

    fn late(&self) -> CallError {
        CallError::Timeout { backend: Arc::clone(&self.server), after: self.patience }
    }

    fn note(&self, uri: &str, refused: Option<&CallError>) {
        if let Some(error) = refused {
            tracing::debug!(server = %self.server, uri, %error, "a subscription was refused");
        }
    }
}

/// An open listen, and what it is for.
struct Listen {
    uris: HashSet<Uri>,
    request: Listening,
}

/// A request that lasts until this is dropped, which cancels it.
struct Listening(JoinHandle<Result<(), TransportError>>);

impl Future for Listening {
    type Output = Result<(), TransportError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(context).map(|joined| joined.unwrap_or(Ok(())))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}
