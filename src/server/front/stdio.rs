//! The stdio front: one client on a pipe, in either era or both.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use super::batch;
use super::stateless::admit;
use crate::json::Raw;
use crate::model::{Owner, Principal};
use crate::server::Server;
use crate::server::client::changes::Compared;
use crate::server::client::client::{Client, surface_handle};
use crate::server::client::in_flight::InFlight;
use crate::server::client::links::Links;
use crate::server::client::sink::MessageSink;
use crate::server::era::detect;
use crate::server::methods::initialize::Handshake;
use crate::server::methods::{self, Outcome, initialize, vendor};
use crate::wire::{
    InputLine, LineReader, LineSender, Message, MessageError, Request, Revision, RpcError, batch as split, code,
    encode, line_writer,
};

const QUEUE: usize = 1024;
/// What was asked before the client closed its end may still be answered, for so long.
const DRAIN: Duration = Duration::from_secs(2);

/// Serves until the client closes its end.
pub async fn serve_stdio(
    server: Server,
    principal: Principal,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    max_line: usize,
) {
    let (lines, queue) = mpsc::channel(QUEUE);
    let writer = tokio::spawn(line_writer(output, queue));
    let front = Arc::new(Front {
        server,
        principal,
        lines,
        in_flight: InFlight::default(),
        session: Mutex::new(None),
        owner: Owner::new_session(),
        links: Arc::default(),
    });
    let announcer = tokio::spawn(announce(Arc::clone(&front)));
    let mut reader = LineReader::new(input, max_line);
    loop {
        match reader.next().await {
            Ok(Some(InputLine::Text(text))) => front.take(text).await,
            Ok(Some(InputLine::TooLong { length, .. })) => {
                let reason = format!("a message of {length} bytes is larger than {max_line}");
                front.send_nameless(&RpcError::invalid_request(&reason)).await;
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "reading standard input");
                break;
            }
        }
    }
    front.drain().await;
    announcer.abort();
    let _ = announcer.await;
    drop(front);
    // Everything that was answered is on its way out before we go.
    let _ = tokio::time::timeout(DRAIN, writer).await;
}

struct Front {
    server: Server,
    principal: Principal,
    lines: LineSender,
    in_flight: InFlight,
    /// The client as a handshake showed it, if there was one.
    session: Mutex<Option<Arc<Client>>>,
    /// Whose everything on this pipe is that stands alone.
    owner: Owner,
    /// What it was given links to, in either era.
    links: Arc<Links>,
}

/// Tells a session-based client when its lists changed.
async fn announce(front: Arc<Front>) {
    let gateway = &front.server.gateway;
    let mut news = gateway.news();
    while news.changed().await.is_ok() {
        let Some(client) = front.session() else { continue };
        let (Some(seen), Some(now)) = (&client.seen, gateway.surface_now(&client.surface_handle)) else { continue };
        for change in seen.turn_to(&now, &mut Compared::default()) {
            front.send(encode::notification(change, None)).await;
        }
    }
}

impl Front {
    fn session(&self) -> Option<Arc<Client>> {
        self.session.lock().clone()
    }

    fn revision(&self) -> Option<Revision> {
        self.session.lock().as_ref().map(|client| client.revision)
    }

    async fn send(&self, line: String) {
        // A client that is gone needs no answer.
        let _ = self.lines.send(line).await;
    }

    /// An error for something whose id could not be read, in the form the client's revision has.
    async fn send_nameless(&self, error: &RpcError) {
        let old = self.revision().is_some_and(|revision| revision < Revision::V2025_11_25);
        self.send(if old { encode::error_with_null_id(error) } else { encode::error(None, error) }).await;
    }

    async fn take(self: &Arc<Self>, text: &[u8]) {
        if let Some(items) = split(text) {
            return self.take_batch(items).await;
        }
        match Message::parse(text) {
            Ok(Message::Request(request)) => self.take_request(request).await,
            Ok(Message::Notification(notification)) => {
                self.in_flight.take_notification(&notification);
                match self.session() {
                    Some(client) => vendor::forward_session_notification(&self.server, &notification, &client),
                    None => {
                        let handle = surface_handle(&self.principal, &Arc::default());
                        vendor::forward_notification(&self.server, &notification, &handle);
                    }
                }
            }
            Ok(Message::Response(response)) => match self.session().and_then(|client| client.questions.clone()) {
                Some(questions) => questions.take(response),
                None => tracing::debug!(?response.id, "an answer to nothing was dropped"),
            },
            Err(MessageError { id: Some(id), error }) => self.send(encode::error(Some(&id), &error)).await,
            Err(MessageError { id: None, error }) => self.send_nameless(&error).await,
        }
    }

    async fn take_request(self: &Arc<Self>, request: Request) {
        if !detect::is_stateless(&request, None) && request.method == "initialize" {
            return self.initialize(&request).await;
        }
        let client = match self.client_of(&request) {
            Ok(client) => client,
            Err(error) => return self.send(encode::error(Some(&request.id), &error)).await,
        };
        let front = Arc::clone(self);
        let running = match self.in_flight.begin(&request.id) {
            Ok(running) => running,
            Err(error) => return self.send(encode::error(Some(&request.id), &error)).await,
        };
        tokio::spawn(async move {
            let sink = MessageSink::Queue(front.lines.clone());
            let cancel = running.cancel.clone();
            let outcome = methods::answer(&front.server, &client, &sink, &request, cancel, None).await;
            // Before the answer goes out: from then on the client may use the id again.
            drop(running);
            front.finish(&request, outcome).await;
        });
    }

    async fn finish(&self, request: &Request, outcome: Outcome) {
        let Some(outcome) = outcome else { return };
        self.send(encode::outcome(&request.id, &outcome)).await;
        if request.method == "subscriptions/listen" && outcome.is_ok() {
            // On a pipe the end of a subscription is said in both ways the protocol knows.
            let params = format!("{{\"requestId\":{}}}", request.id);
            self.send(encode::notification("notifications/cancelled", Some(&params))).await;
        }
    }

    fn client_of(&self, request: &Request) -> Result<Arc<Client>, RpcError> {
        if detect::is_stateless(request, None) {
            let client = admit(request, None, self.principal.clone(), Some(self.owner.clone()))
                .map_err(|refusal| refusal.error)?;
            return Ok(Arc::new(Client { links: Some(Arc::clone(&self.links)), ..client }));
        }
        match self.session() {
            Some(client) => Ok(client),
            // Allowed before anything was agreed.
            None if request.method == "ping" => Ok(Arc::new(Handshake::default().client(self.principal.clone()))),
            None => {
                let message = format!(
                    "open with `initialize`, or send `_meta` with every request; supported versions: {}",
                    Revision::supported_names().join(", ")
                );
                Err(RpcError::new(code::INVALID_PARAMS, &message))
            }
        }
    }

    /// A second handshake on the same pipe starts over.
    async fn initialize(&self, request: &Request) {
        match initialize::negotiate(request) {
            Ok(handshake) => {
                self.server.gateway.sole_client(handshake.abilities);
                let links = Some(Arc::clone(&self.links));
                let client = Client { links, ..handshake.client(self.principal.clone()) };
                let client = Arc::new(client.with_sink(MessageSink::Queue(self.lines.clone())));
                self.server.clients.add(Arc::downgrade(&client));
                let new = Arc::clone(&client);
                let old = self.session.lock().replace(new);
                if let Some(old) = old {
                    old.end();
                }
                let result = initialize::result(&self.server, &client).await;
                self.send(encode::result(&request.id, &result)).await;
            }
            Err(error) => self.send(encode::error(Some(&request.id), &error)).await,
        }
    }

    async fn take_batch(self: &Arc<Self>, items: Result<Vec<Raw>, MessageError>) {
        let items = match items {
            Ok(items) => items,
            Err(fault) => return self.send_nameless(&fault.error).await,
        };
        if self.revision() != Some(Revision::V2025_03_26) {
            let error = RpcError::invalid_request("batches are only for protocol version 2025-03-26");
            return self.send_nameless(&error).await;
        }
        let items = match batch::sort(&items) {
            Ok(items) => items,
            Err(error) => return self.send_nameless(&error).await,
        };
        let Some(client) = self.session() else { return };
        let sink = MessageSink::Queue(self.lines.clone());
        let answers = batch::begin(items, &self.server, &client, &self.in_flight, &sink);
        let front = Arc::clone(self);
        tokio::spawn(async move {
            if let Some(text) = batch::gather(answers).await {
                front.send(text).await;
            }
        });
    }

    /// Lets running requests finish for a moment, then cancels them.
    async fn drain(&self) {
        let deadline = tokio::time::Instant::now() + DRAIN;
        while !self.in_flight.is_empty() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.in_flight.cancel_all();
        if let Some(client) = self.session() {
            client.end();
        }
        self.server.conversations.end_of(&self.owner);
        self.server.forget_values_of(&self.principal, &self.owner).await;
    }
}
