//! One line of the log for each request of a client, at the level `debug`.

use std::time::Instant;

use tracing::Level;

use super::MethodOutcome;
use crate::json::{Object, RawRef};
use crate::model::ItemKind;
use crate::server::Server;
use crate::server::client::state::Client;
use crate::wire::Request;

/// A request that is being answered. One that is dropped before it has an outcome was cancelled.
pub(super) struct LoggedRequest<'a> {
    server: &'a Server,
    client: &'a Client,
    message: &'a Request,
    started: Instant,
    outcome: Option<String>,
}

impl<'a> LoggedRequest<'a> {
    /// `None` unless requests are logged.
    pub(super) fn begin(server: &'a Server, client: &'a Client, message: &'a Request) -> Option<Self> {
        let is_logged = tracing::enabled!(target: "request", Level::DEBUG, server);
        is_logged.then(|| LoggedRequest { server, client, message, started: Instant::now(), outcome: None })
    }

    pub(super) fn end(mut self, outcome: &MethodOutcome) {
        self.outcome = outcome.as_ref().map(|outcome| match outcome {
            Ok(result) if is_error(result) => "error result".to_owned(),
            Ok(_) => "ok".to_owned(),
            Err(error) => format!("error {}: {}", error.code(), error.message()),
        });
    }
}

impl Drop for LoggedRequest<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.as_deref().unwrap_or("cancelled");
        let method = self.message.method.as_str();
        let params = self.message.params.as_deref();
        let key = kind(method).and_then(|kind| member(params, kind.use_member()));
        let origin = key.as_deref().zip(kind(method)).and_then(|(key, kind)| {
            let surface = self.server.gateway.surface_now(&self.client.surface_handle)?;
            surface.find(kind, key)?.origin.as_ref().map(|origin| origin.backend.clone())
        });
        let name = key.unwrap_or_default();
        let ms = milliseconds(self.started);
        let what = format!("{method} {name}");
        let what = what.trim_end();
        match origin {
            Some(server) => {
                tracing::debug!(target: "request", %server, method, name, ms, outcome, "{what}: {outcome} in {ms} ms")
            }
            None => tracing::debug!(target: "request", method, name, ms, outcome, "{what}: {outcome} in {ms} ms"),
        }
    }
}

/// Logs that a session has begun.
pub(super) fn initialized(client: &Client, started: Instant) {
    if !tracing::enabled!(target: "request", Level::DEBUG) {
        return;
    }
    let info = client.info.implementation.as_deref();
    let name = [member(info, "name"), member(info, "version")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let (ms, version) = (milliseconds(started), client.revision.as_str());
    tracing::debug!(
        target: "request", method = "initialize", name, ms, outcome = "ok",
        "initialize {name} ({version}): ok in {ms} ms"
    );
}

fn milliseconds(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The kind of item that a method is about.
fn kind(method: &str) -> Option<ItemKind> {
    ItemKind::ALL.into_iter().find(|kind| kind.use_method() == method)
}

fn member(params: Option<&RawRef>, name: &str) -> Option<String> {
    Object::of(params?).ok()?.string(name)
}

fn is_error(result: &RawRef) -> bool {
    Object::of(result).is_ok_and(|result| result.get("isError").is_some_and(|value| value.get() == "true"))
}
