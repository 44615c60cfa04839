//! `logging/setLevel`: the minimum severity of the log messages that a session receives.

use serde_json::json;

use crate::Server;
use crate::client::log_level::ClientLogLevel;
use crate::client::state::Client;
use proxy_json::{Object, Raw, RawRef};
use proxy_wire::{LoggingLevel, Request, RpcError};

pub(super) async fn set_level(server: &Server, client: &Client, message: &Request) -> Result<Raw, RpcError> {
    let body = message.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let requested = Object::of(body).ok().and_then(|params| params.string("level"));
    let severity = requested.as_deref().and_then(LoggingLevel::parse);
    let (Some(severity), ClientLogLevel::Session(level)) = (severity, &client.level) else {
        let known: Vec<&str> = LoggingLevel::ALL.into_iter().map(LoggingLevel::as_str).collect();
        return Err(RpcError::invalid_params(&format!("`level` must be one of {}", known.join(", "))));
    };
    level.set(severity);
    if let Some(id) = client.session().and_then(|session| session.http.as_ref()) {
        server.replicas.set_level(id.sid.digest(), severity.as_str()).await;
    }
    Ok(proxy_json::raw(&json!({})))
}
