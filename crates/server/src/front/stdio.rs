//! The stdio front: one client on standard input and output, which may mix session-based and stateless requests.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::batch;
use super::stateless::admit;
use crate::Server;
use crate::client::in_flight::InFlight;
use crate::client::links::Links;
use crate::client::list_changes::SurfaceChanges;
use crate::client::peer::{AskBy, ClientPeer, CurrentSession};
use crate::client::sink::{MessageQueue, MessageSink};
use crate::client::state::{Client, ClientSession, surface_handle};
use crate::era::detect;
use crate::methods::initialize::Handshake;
use crate::methods::{self, MethodOutcome, initialize, vendor};
use proxy_json::Raw;
use proxy_mcp_client::SoleClient;
use proxy_model::{ClientProfile, Owner, Principal};
use proxy_wire::outbound::OutboundBudget;
use proxy_wire::{
    InputLine, LineReader, Message, MessageError, Method, Request, Response, Revision, RpcError, Sender,
    batch as split, code, encode, line_writer, oversized, trace_client,
};

/// The number of outgoing messages that are queued for a slow client.
const QUEUE_CAPACITY: usize = 1024;
/// How long running requests may continue after the client has closed standard input.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves one client until it closes standard input.
pub async fn serve_stdio(
    server: Server,
    principal: Principal,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    max_line_bytes: usize,
) {
    let (lines, queue) = mpsc::channel(QUEUE_CAPACITY);
    let close = CancellationToken::new();
    let writer = tokio::spawn(line_writer(output, queue, close.clone()));
    // Nothing is dropped for the client that started this process: what does not fit waits.
    let outlet = OutboundBudget::default().connection().outlet(Owner::Process).patient();
    let front = Arc::new(StdioFront {
        server,
        principal,
        lines: MessageQueue::new(lines, outlet),
        in_flight: InFlight::default(),
        session: CurrentSession::default(),
        owner: Owner::new_connection(),
        links: Arc::default(),
    });
    let notifier = tokio::spawn(notify_list_changes(Arc::clone(&front)));
    let mut reader = LineReader::new(input, max_line_bytes);
    loop {
        match reader.next().await {
            Ok(Some(InputLine::Text(text))) => front.handle(text).await,
            Ok(Some(InputLine::TooLong { head, tail, length })) => {
                let reason = format!("the message is too large: {length} bytes, the limit is {max_line_bytes}");
                front.refuse(&head, &tail, RpcError::invalid_request(&reason)).await;
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "cannot read standard input");
                break;
            }
        }
    }
    // Servers that wait for the client would wait in vain, and the script for them.
    if !front.server.gateway.is_introduced() {
        front.server.gateway.introduce(SoleClient { profile: ClientProfile::default(), peer: None });
    }
    front.drain().await;
    notifier.abort();
    let _ = notifier.await;
    // Tasks that still send a response hold the front. Others hold a sender for as long as the gateway lives.
    let tasks = Arc::downgrade(&front);
    drop(front);
    let finished = async {
        while tasks.strong_count() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, finished).await;
    close.cancel();
    // Flushes the queued responses.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, writer).await;
}

struct StdioFront {
    server: Server,
    principal: Principal,
    lines: MessageQueue,
    in_flight: InFlight,
    /// The client of the session, after `initialize`.
    session: CurrentSession,
    /// The owner of the stateless requests on this connection.
    owner: Owner,
    /// The resource links that the client has received, in session-based and stateless requests.
    links: Arc<Links>,
}

/// Sends `list_changed` notifications to a session-based client.
async fn notify_list_changes(front: Arc<StdioFront>) {
    let gateway = &front.server.gateway;
    let mut changes = SurfaceChanges::of(gateway);
    while changes.next().await {
        let Some(client) = front.session() else { continue };
        let now = gateway.lists_now(&client.surface_handle);
        let (Some(ClientSession { seen_lists, .. }), Some(now)) = (client.session(), now) else { continue };
        for change in seen_lists.replace(now) {
            front.send(encode::notification(change, None)).await;
        }
    }
}

impl StdioFront {
    fn session(&self) -> Option<Arc<Client>> {
        self.session.lock().clone()
    }

    fn revision(&self) -> Option<Revision> {
        self.session.lock().as_ref().map(|client| client.revision)
    }

    async fn send(&self, line: String) {
        self.lines.send(line).await;
    }

    /// Sends an error for a message whose id could not be read. Before 2025-11-25 such an error has the id `null`.
    async fn send_error_without_id(&self, error: &RpcError) {
        let old = self.revision().is_some_and(|revision| revision < Revision::V2025_11_25);
        self.send(if old { encode::error_with_null_id(error) } else { encode::error(None, error) }).await;
    }

    /// Refuses a message above the size limit, of which only the head and the tail are known. A response of the client
    /// fails the question that it answers.
    async fn refuse(&self, head: &[u8], tail: &[u8], error: RpcError) {
        let Some(id) = oversized::message_id(head, tail) else { return self.send_error_without_id(&error).await };
        if !oversized::is_response(head) {
            return self.send(encode::error(Some(&id), &error)).await;
        }
        if let Some(questions) =
            self.session().and_then(|client| client.session().map(|session| Arc::clone(&session.questions)))
        {
            questions.take(Response { id: Some(id), outcome: Err(error) });
        }
    }

    async fn handle(self: &Arc<Self>, text: &[u8]) {
        trace_client(Sender::Other, text);
        if let Some(items) = split(text) {
            return self.handle_batch(items).await;
        }
        match Message::parse(text) {
            Ok(Message::Request(request)) => self.handle_request(request).await,
            Ok(Message::Notification(notification)) => {
                self.in_flight.take_notification(&notification);
                match self.session() {
                    Some(client) if notification.method == "notifications/initialized" => client.release_questions(),
                    Some(client) => vendor::forward_session_notification(&self.server, &notification, &client),
                    None => {
                        let handle = surface_handle(&self.principal, &Arc::default(), ClientProfile::default());
                        vendor::forward_notification(&self.server, &notification, &handle, &Owner::Process);
                    }
                }
            }
            Ok(Message::Response(response)) => {
                match self.session().and_then(|client| client.session().map(|session| Arc::clone(&session.questions))) {
                    Some(questions) => questions.take(response),
                    None => tracing::debug!(?response.id, "dropped a response to an unknown request"),
                }
            }
            Err(MessageError { id: Some(id), error }) => self.send(encode::error(Some(&id), &error)).await,
            Err(MessageError { id: None, error }) => self.send_error_without_id(&error).await,
        }
    }

    async fn handle_request(self: &Arc<Self>, request: Request) {
        if !detect::is_stateless(&request, None) && request.kind == Method::Initialize {
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
            // Before the response is sent: from then on the client may reuse the id.
            drop(running);
            front.finish(&request, outcome).await;
        });
    }

    async fn finish(&self, request: &Request, outcome: MethodOutcome) {
        let Some(outcome) = outcome else { return };
        self.send(encode::outcome(&request.id, &outcome)).await;
        if request.kind == Method::SubscriptionsListen && outcome.is_ok() {
            // On stdio, MCP ends a subscription with a response and with this notification.
            let params = format!("{{\"requestId\":{}}}", request.id);
            self.send(encode::notification("notifications/cancelled", Some(&params))).await;
        }
    }

    fn client_of(&self, request: &Request) -> Result<Arc<Client>, RpcError> {
        if detect::is_stateless(request, None) {
            let client = admit(request, None, self.principal.clone(), Some(self.owner.clone()))
                .map_err(|refusal| refusal.error)?;
            if !self.server.gateway.is_introduced() {
                self.server.gateway.introduce(SoleClient { profile: client.profile(), peer: None });
            }
            return Ok(Arc::new(Client { links: Some(Arc::clone(&self.links)), ..client }));
        }
        match self.session() {
            Some(client) => {
                // A client that calls has completed its handshake, even if it did not say so.
                if request.kind != Method::Ping {
                    client.release_questions();
                }
                Ok(client)
            }
            // `ping` is allowed before the handshake.
            None if request.kind == Method::Ping => Ok(Arc::new(Handshake::default().client(self.principal.clone()))),
            None => {
                let message = format!(
                    "no session: send `initialize` first, or `_meta` with the protocol version in every request; \
                     supported versions: {}",
                    Revision::supported_names().join(", ")
                );
                Err(RpcError::new(code::INVALID_PARAMS, &message))
            }
        }
    }

    /// Opens a session. A second `initialize` on the same connection replaces the session.
    async fn initialize(&self, request: &Request) {
        match initialize::negotiate(request) {
            Ok(handshake) => {
                let links = Some(Arc::clone(&self.links));
                let client = handshake.client(self.principal.clone()).timed(self.server.telemetry.proxy());
                let client = Client { links, ..client };
                let client = Arc::new(client.with_sink(MessageSink::Queue(self.lines.clone())));
                self.introduce(&client);
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

    /// Tells the servers of the client of a session. They may ask it as soon as its own handshake is complete.
    fn introduce(&self, client: &Arc<Client>) {
        if let Some(ClientSession { questions, .. }) = client.session() {
            questions.hold();
        }
        let ask_by = AskBy::Session(Arc::clone(&self.session));
        let peer = ClientPeer::new(client, &MessageSink::Queue(self.lines.clone()), ask_by, None);
        self.server.gateway.introduce(SoleClient { profile: client.profile(), peer: Some(peer) });
    }

    async fn handle_batch(self: &Arc<Self>, items: Result<Vec<Raw>, MessageError>) {
        let items = match items {
            Ok(items) => items,
            Err(invalid) => return self.send_error_without_id(&invalid.error).await,
        };
        if self.revision() != Some(Revision::V2025_03_26) {
            let error = RpcError::invalid_request("batches are only supported in protocol version 2025-03-26");
            return self.send_error_without_id(&error).await;
        }
        let items = match batch::parse(&items) {
            Ok(items) => items,
            Err(error) => return self.send_error_without_id(&error).await,
        };
        let Some(client) = self.session() else { return };
        let sink = MessageSink::Queue(self.lines.clone());
        let responses = batch::start(items, &self.server, &client, &self.in_flight, &sink);
        let front = Arc::clone(self);
        tokio::spawn(async move {
            if let Some(text) = batch::join(responses).await {
                front.send(text).await;
            }
        });
    }

    /// Waits a short time for running requests, then cancels them and ends the session.
    async fn drain(&self) {
        let deadline = tokio::time::Instant::now() + DRAIN_TIMEOUT;
        while !self.in_flight.is_empty() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.in_flight.cancel_all();
        if let Some(client) = self.session() {
            client.end();
        }
        self.server.conversations.cancel_all_of(&self.owner);
        self.server.forget_values_of(&self.principal, &self.owner).await;
    }
}
