//! The MCP methods: one file per method, or per group of methods with the same shape. Every request, session-based or
//! stateless, arrives at [`answer`].

pub(crate) mod capabilities;
mod completion_complete;
pub(super) mod initialize;
mod forwarding;
mod item;
pub(super) mod kept_results;
mod list;
mod logging_set_level;
mod prompts_get;
mod resources_read;
pub(super) mod resources_subscribe;
mod server_discover;
mod subscriptions_listen;
mod tasks;
mod tools_call;
pub(super) mod vendor;

use std::sync::Arc;

use serde_json::json;

use super::Server;
use super::client::peer::{AskBy, ClientPeer};
use super::client::sink::MessageSink;
use super::client::state::Client;
use proxy_dialects::Dialect;
use proxy_engine::calls::{RecordedRequest, RequestContext, RequestOrigin, ToldLabels};
use proxy_engine::gateway::STOPPED;
use proxy_engine::surface::Surface;
use proxy_json::Raw;
use proxy_mcp_client::{Cancellation, Peer};
use proxy_model::{CallPeer, ItemKind};
use proxy_telemetry::CallRecording;
use proxy_wire::{Method, Request, RpcError};

/// The outcome of a request; `None` if the request was cancelled, because it then gets no response.
pub(super) type MethodOutcome = Option<Result<Raw, RpcError>>;

/// Answers a request. `surface` is the client's surface if the front has taken it already.
pub(super) async fn answer(
    server: &Server,
    client: &Arc<Client>,
    sink: &MessageSink,
    message: &Request,
    cancel: Cancellation,
    surface: Option<Arc<Surface>>,
) -> MethodOutcome {
    if let Some(home) = forwarding::home_of(server, client, message) {
        match Box::pin(forwarding::forward(server, client, message, home, &cancel)).await {
            Ok(outcome) => return outcome,
            Err(why) if !forwarding::may_be_taken_over(server, client, message) => {
                return Some(Err(forwarding::error(why, message.kind)));
            }
            Err(_) => {}
        }
    }
    let recorded = record(server, client, message);
    let mut outcome = respond(server, client, sink, message, cancel, surface, recorded.recording()).await;
    if outcome.is_none() && server.gateway.is_out_of_time() {
        outcome = Some(Err(stopped()));
    }
    recorded.end(outcome.as_ref());
    outcome
}

/// The error of a request that was still running when the proxy had to stop.
pub(super) fn stopped() -> RpcError {
    RpcError::internal(STOPPED)
}

/// Begins the record of a request.
pub(super) fn record<'a>(server: &Server, client: &'a Client, message: &'a Request) -> RecordedRequest<'a> {
    let origin = RequestOrigin {
        method: &message.method,
        id: Some(&message.id),
        revision: Some(client.revision),
        params: message.params.as_ref(),
        principal: &client.principal,
        client: &client.info,
        source: server.source,
        session: client.session().and_then(|session| session.id.as_ref()),
        peer: client.facts.peer.map(CallPeer::Address),
        ambient: client.facts.trace_context,
    };
    RecordedRequest::begin(&server.telemetry, origin)
}

async fn respond(
    server: &Server,
    client: &Arc<Client>,
    sink: &MessageSink,
    message: &Request,
    cancel: Cancellation,
    surface: Option<Arc<Surface>>,
    recording: &Arc<CallRecording>,
) -> MethodOutcome {
    let not_found = || Some(Err(RpcError::method_not_found(&message.method)));
    if !message.kind.is_in(client.revision) {
        return not_found();
    }
    // These methods do not need the surface.
    match message.kind {
        Method::Ping => return Some(Ok(proxy_json::raw(&json!({})))),
        Method::ServerDiscover => return Some(Box::pin(server_discover::discover(server, client)).await),
        Method::SubscriptionsListen => {
            return Box::pin(subscriptions_listen::listen(server, client, sink, message, cancel)).await;
        }
        _ => {}
    }
    if let Method::List(kind) = message.kind {
        if !server.first_lists(client, &cancel).await {
            return None;
        }
        // Fetches expired lists again before the surface is taken.
        Box::pin(list::refresh(server, client, kind, message)).await;
    }
    let surface = match surface {
        Some(surface) => surface,
        None => match server.surface_for(client, message, &cancel).await? {
            Ok(surface) => surface,
            Err(error) => return Some(Err(error)),
        },
    };
    if capabilities::lacks(&surface, message) && !kept_results::serves(server, client, &surface, message) {
        return not_found();
    }
    let ask_by = if client.revision.is_stateless() { AskBy::Nothing } else { AskBy::Request };
    let peer = ClientPeer::new(client, sink, ask_by, Some(recording));
    let request = RequestContext {
        recording: Some(Arc::clone(recording)),
        dialect: dialect_for(message, client, &surface),
        ..context(server, client, surface, Arc::clone(&peer), cancel)
    };
    if let Method::List(kind) = message.kind {
        Box::pin(list::lower(client, &request, kind)).await;
    }
    // A future is as large as its largest branch, and it is moved often. The rarer branches are boxed.
    match message.kind {
        Method::ToolsCall => tools_call::call(server, &peer, &request, message).await,
        Method::ResourcesRead => Box::pin(resources_read::read(server, &peer, &request, message)).await,
        Method::PromptsGet => Box::pin(prompts_get::get(server, &peer, &request, message)).await,
        Method::List(kind) => Some(list::list(server, client, &request, kind, message)),
        Method::CompletionComplete => Box::pin(completion_complete::complete(server, &peer, &request, message)).await,
        Method::LoggingSetLevel => Some(Box::pin(logging_set_level::set_level(server, client, message)).await),
        Method::ResourcesSubscribe => Box::pin(resources_subscribe::subscribe(server, client, &request, message)).await,
        Method::ResourcesUnsubscribe => Some(Box::pin(resources_subscribe::unsubscribe(server, client, message)).await),
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult => {
            Box::pin(tasks::task(server, &peer, &request, message)).await
        }
        Method::Vendor => Box::pin(vendor::forward(server, &peer, &request, message)).await,
        // A second `initialize` of a session; the others are answered above.
        Method::Initialize | Method::Ping | Method::ServerDiscover | Method::SubscriptionsListen | Method::Unknown => {
            not_found()
        }
    }
}

/// What the client accepts, for requests about tools.
fn dialect_for(message: &Request, client: &Client, surface: &Surface) -> Option<Arc<Dialect>> {
    match message.kind {
        Method::ToolsCall | Method::List(ItemKind::Tool) => surface.dialect_of(&client.info).cloned(),
        _ => None,
    }
}

fn context(
    server: &Server,
    client: &Client,
    surface: Arc<Surface>,
    peer: Arc<ClientPeer>,
    cancel: Cancellation,
) -> RequestContext {
    RequestContext {
        principal: client.principal.clone(),
        client: Arc::clone(&client.info),
        revision: Some(client.revision),
        retries_with_input: client.revision.is_stateless(),
        headers: Arc::clone(&client.facts.headers),
        told: ToldLabels::of(&surface),
        surface,
        scope_rules: server.gateway.scope_rules(),
        peer: Some(peer as Arc<dyn Peer>),
        cancel,
        policy: Some(server.gateway.view(&client.surface_handle).policy().clone()),
        recording: None,
        dialect: None,
    }
}
