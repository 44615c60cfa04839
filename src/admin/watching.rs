//! The part of the control API for watching a running proxy: its calls, and restarting its servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use super::api::{ControlApi, MAX_WAITING_EVENTS, Refused, answer_json, problem};
use super::live_events::send_events;
use super::recorded_calls::{CallDetails, FindError, KeptCall};
use super::recording::{catalog_now, send_recording};
use proxy_author::backtest::{CallLine, SingleRecording, as_test};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_mcp_client::RestartOutcome;
use proxy_model::Owner;
use proxy_model::operator_api::RestartReport;
use proxy_wire::http::{HttpReply, SocketRequest};

/// How long to wait for a restart.
const RESTART_TIMEOUT: Duration = Duration::from_secs(60);

impl ControlApi {
    /// Calls are recorded from this reply until the reader disconnects.
    pub(super) fn events(&self) -> HttpReply {
        let (frames, stream) = mpsc::channel(MAX_WAITING_EVENTS);
        let (gateway, following) = (Arc::clone(&self.gateway), self.recorder.follow());
        tokio::spawn(async move { send_events(&gateway, following, frames).await });
        HttpReply::events(stream)
    }

    pub(super) async fn calls(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let calls = self.recorder.all();
        let text = json!({"recording": self.recorder.is_recording(), "calls": calls}).to_string();
        Ok(self.counted(text, request).await)
    }

    pub(super) async fn call_details(&self, id: &str, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let show_secrets = shows_secrets(request)?;
        let call = self.find_call(id)?;
        // Searching a megabyte for secrets takes a while and must not delay clients.
        let text =
            tokio::task::spawn_blocking(move || serde_json::to_string(&CallDetails::of(&call, show_secrets))).await;
        let text = text.ok().and_then(Result::ok).unwrap_or_default();
        Ok(self.counted(text, request).await)
    }

    /// A call as a test function, based on what the servers offer now and the current script.
    pub(super) async fn call_as_test(&self, id: &str, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let show_secrets = shows_secrets(request)?;
        let call = self.find_call(id)?;
        let call = call.whole().ok_or_else(|| {
            let hint = "`proxy calls --record FILE` writes whole calls to a file";
            refusal(StatusCode::CONFLICT, "the call is too large: only a part of it was kept", Some(hint.to_owned()))
        })?;
        let no_script = || problem(StatusCode::CONFLICT, "there is no session script in use");
        let script = self.gateway.script_versions().in_use.ok_or_else(no_script)?;
        let (catalog, runtime) = (catalog_now(&self.gateway), Handle::current());
        // The call is replayed in the script, which must not delay clients.
        let test = tokio::task::spawn_blocking(move || {
            let none = || Diagnostic::error("this request is not a tool call, a resource read or a prompt");
            let call = CallLine::of(&call).ok_or_else(none)?;
            let call = if show_secrets { call } else { call.redacted() };
            runtime.block_on(as_test(&SingleRecording { catalog, call }, &script, show_secrets))
        });
        let crashed = |error: JoinError| problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
        let text = match test.await.map_err(crashed)? {
            Ok(test) => json!({ "test": test }).to_string(),
            Err(error) => return Err(refusal(StatusCode::CONFLICT, &error.message, error.hint)),
        };
        Ok(self.counted(text, request).await)
    }

    /// Complete calls, from this reply until the reader disconnects.
    pub(super) fn recording(&self) -> HttpReply {
        let (frames, stream) = mpsc::channel(MAX_WAITING_EVENTS);
        let gateway = Arc::clone(&self.gateway);
        tokio::spawn(async move { send_recording(&gateway, frames).await });
        HttpReply::events(stream)
    }

    fn find_call(&self, id: &str) -> Result<Arc<KeptCall>, Refused> {
        self.recorder.find(id).map_err(|error| match error {
            FindError::Unknown => problem(
                StatusCode::NOT_FOUND,
                "no such call is kept: calls are recorded only while somebody follows them, and only the last 500 are kept",
            ),
            FindError::Ambiguous => problem(StatusCode::CONFLICT, "several calls have an id with this ending"),
        })
    }

    /// A reply that counts toward the memory that is buffered for the local user.
    pub(super) async fn counted(&self, text: String, request: &SocketRequest) -> HttpReply {
        let outlet = request.connection.outlet(Owner::of_share(&self.local));
        HttpReply::json(StatusCode::OK, text).within(&outlet).await
    }

    /// Restarts a server. The reply comes when the server is ready or has failed, or after a minute.
    pub(super) async fn restart(&self, name: &str) -> Result<HttpReply, Refused> {
        let started = Instant::now();
        // Continues if the caller disconnects.
        let (gateway, server) = (Arc::clone(&self.gateway), name.to_owned());
        let restart = tokio::spawn(async move { gateway.restart(&server).await });
        let outcome = match tokio::time::timeout(RESTART_TIMEOUT, restart).await {
            Ok(Ok(None)) => return Err(self.cannot_restart(name)),
            Ok(Ok(Some(outcome))) => Some(outcome),
            Ok(Err(_)) => return Err(problem(StatusCode::INTERNAL_SERVER_ERROR, "the restart crashed")),
            Err(_) => None,
        };
        let (status, error, tools) = match &outcome {
            Some((RestartOutcome::Ready, view)) => ("ready", "", Some(view.lists.tools.len())),
            Some((RestartOutcome::Failed, view)) => ("failed", view.error.as_str(), None),
            Some((RestartOutcome::LoginNeeded, view)) => ("login", view.error.as_str(), None),
            None => ("starting", "", None),
        };
        let seconds = (started.elapsed().as_secs_f64() * 100.0).round() / 100.0;
        answer_json(&RestartReport {
            server: name.to_owned(),
            status: status.to_owned(),
            error: error.to_owned(),
            tools,
            seconds,
        })
    }

    fn cannot_restart(&self, name: &str) -> Refused {
        let snapshot = self.gateway.snapshot();
        if snapshot.backend(name).is_some() {
            let error = format!("`{name}` is an extension, which has no process and no connection");
            let hint = "it is reloaded when its file changes";
            return refusal(StatusCode::CONFLICT, &error, Some(hint.to_owned()));
        }
        let near = nearest(name, snapshot.backends.iter().map(|server| server.name.as_ref()));
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        refusal(StatusCode::NOT_FOUND, &format!("there is no server `{name}`"), hint)
    }
}

fn shows_secrets(request: &SocketRequest) -> Result<bool, Refused> {
    match request.parameter("secrets") {
        None => Ok(false),
        Some("show") => Ok(true),
        Some(_) => Err(problem(StatusCode::BAD_REQUEST, "`secrets` must be `show` or missing")),
    }
}

fn refusal(status: StatusCode, error: &str, hint: Option<String>) -> Refused {
    let mut body = json!({ "error": error });
    if let Some(hint) = hint {
        body["hint"] = Value::from(hint);
    }
    HttpReply::json(status, body.to_string())
}
