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
    static STATE: Needle = Needle::new("requestState");
    if !server.replicas.has_shared_keys() {
        return None;
    }
    let home = match message.kind {
        Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet if client.revision.is_stateless() => {
            let params = message.params.as_deref().filter(|params| STATE.is_in(params.get()))?;
            let ticket = Object::of(params).ok()?.string("requestState")?;
            server.tickets.home_of(&client.principal, &ticket)
        }
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult => {
            tasks::home_of(server, client, message)
        }
        _ => None,
    };
    home.filter(|home| *home != Home::of_this_process() && server.replicas.store().is_some())
}

/// Lets another process answer. It checks and records the request like its own.
pub(super) async fn forward(
    server: &Server,
    client: &Arc<Client>,
    message: &Request,
    home: Home,
    cancel: &Cancellation,
) -> MethodOutcome {
    let params = message.params.as_deref().map(|params| params.get());
    let Ok(text) = proxy_json::valid(encode::request(&message.id, &message.method, params)) else {
        return Some(Err(RpcError::internal("cannot forward the request to its proxy process")));
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
        () = cancel.cancelled() => return None,
    };
    Some(match asked {
        Ok(ForwardedAnswer::Response(response)) => match Message::parse(response.get().as_bytes()) {
            Ok(Message::Response(response)) => response.outcome,
            _ => Err(RpcError::internal("the answer of another proxy process is no response")),
        },
        Ok(ForwardedAnswer::Cancelled) => return None,
        Ok(ForwardedAnswer::Refused) => Err(RpcError::internal("another proxy process refused the request")),
        Err(NotForwarded::Gone) => Err(gone(message.kind)),
        Err(NotForwarded::Unreachable) => {
            Err(RpcError::internal("the proxy process that can answer cannot be reached now; try again later"))
        }
    })
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
