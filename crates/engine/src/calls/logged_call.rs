//! One line of the log for each call that a handler makes, at the level `debug`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use tracing::Level;

use proxy_json::Object;
use proxy_mcp_client::{Answer, BackendCall, CallError};

pub(super) struct LoggedCall {
    server: Arc<str>,
    method: Cow<'static, str>,
    name: String,
    started: Instant,
}

impl LoggedCall {
    /// `None` unless calls are logged.
    pub(super) fn begin(server: &Arc<str>, call: &BackendCall) -> Option<Self> {
        if !tracing::enabled!(target: "request", Level::DEBUG, server) {
            return None;
        }
        let params = Object::of(&call.params).ok();
        let name = params.and_then(|params| params.string("name").or_else(|| params.string("uri")));
        Some(LoggedCall {
            server: Arc::clone(server),
            method: call.method.clone(),
            name: name.unwrap_or_default(),
            started: Instant::now(),
        })
    }

    pub(super) fn end(self, outcome: &Result<Answer, CallError>) {
        let LoggedCall { server, method, name, started } = self;
        let outcome = match outcome {
            Ok(_) => "ok".to_owned(),
            Err(CallError::Rpc(error)) => format!("error {}: {}", error.code(), error.message()),
            Err(error) => error.to_string(),
        };
        let (outcome, method) = (outcome.as_str(), method.as_ref());
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(
            target: "request", %server, method, name, ms, outcome, by = "handler",
            "{method} {name}: {outcome} in {ms} ms, called by a handler"
        );
    }
}
