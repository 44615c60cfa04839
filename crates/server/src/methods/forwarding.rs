//! Requests that only another process can answer: the retry of a call that waits there for the client, and requests about a
//! task whose server belongs to it.

use std::sync::Arc;

use super::{MethodOutcome, tasks};
use crate::Server;
use crate::client::state::Client;
use crate::replicas::{ForwardedAnswer, ForwardedPrincipal, ForwardedRequest, NotForwarded};
use proxy_json::{Needle, Object};
use proxy_mcp_client::Cancellation;
use proxy_model::Home;
use proxy_wire::{Message, Method, Request, RpcError, encode};

/// The other process that has to answer a request, if there is one.
pub(super) fn home_of(server: &Server, client: &Client, message: &Request) -> Option<Home> {
    if !server.replicas.has_shared_keys() {
        return None;
    }
    let home = match message.kind {
        Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet if client.revision.is_stateless() => {
            server.tickets.home_of(&client.principal, &ticket_in(message)?)
        }
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult => {
            tasks::home_of(server, client, message)
        }
        _ => None,
    };
    home.filter(|home| *home != Home::of_this_process() && server.replicas.store().is_some())
}

/// Whether this process may answer a request that its home cannot: the call waits for a log-in, and nobody has sent it. The
/// store says to one process only that its ticket is good.
pub(super) fn may_be_taken_over(server: &Server, client: &Client, message: &Request) -> bool {
    ticket_in(message).is_some_and(|ticket| server.tickets.is_unsent(&client.principal, &ticket))
}

fn ticket_in(message: &Request) -> Option<String> {
    static STATE: Needle = Needle::new("requestState");
    let params = message.params.as_deref().filter(|params| STATE.is_in(params.get()))?;
    Object::of(params).ok()?.string("requestState")
}

/// Lets another process answer. It checks and records the request like its own.
pub(super) async fn forward(
    server: &Server,
    client: &Arc<Client>,
    message: &Request,
    home: Home,
    cancel: &Cancellation,
) -> Result<MethodOutcome, NotForwarded> {
    let params = message.params.as_deref().map(|params| params.get());
    let Ok(text) = proxy_json::valid(encode::request(&message.id, &message.method, params)) else {
        return Ok(Some(Err(RpcError::internal("cannot forward the request to its proxy process"))));
    };
    let request = ForwardedRequest {
        principal: ForwardedPrincipal::from(&client.principal),
        session: client.session().and_then(|session| session.http.as_ref()).map(|id| id.text.clone()),
        message: text,
        headers: client.facts.headers.to_vec(),
        peer: client.facts.peer,
        hops: client.facts.hops.clone(),
    };
    let asked = tokio::select! {
        asked = server.replicas.ask(home, request) => asked,
        () = cancel.cancelled() => return Ok(None),
    };
    Ok(Some(match asked? {
        ForwardedAnswer::Response(response) => match Message::parse(response.get().as_bytes()) {
            Ok(Message::Response(response)) => response.outcome,
            _ => Err(RpcError::internal("the answer of another proxy process is no response")),
        },
        ForwardedAnswer::Cancelled => return Ok(None),
        ForwardedAnswer::Refused => Err(RpcError::internal("another proxy process refused the request")),
    }))
}

/// The error of a request that only another process can answer.
pub(super) fn error(why: NotForwarded, kind: Method) -> RpcError {
    match why {
        NotForwarded::Gone => gone(kind),
        NotForwarded::Unreachable => {
            RpcError::internal("the proxy process that can answer cannot be reached now; try again later")
        }
    }
}

/// The error of a request whose process has ended.
fn gone(kind: Method) -> RpcError {
    match kind {
        Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet => RpcError::invalid_params(
            "`requestState` belongs to a call whose proxy process has ended: call again without it; the call may have \
             been carried out",
        ),
        _ => tasks::unknown_task(),
    }
}
