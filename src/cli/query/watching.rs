//! Watches a running `proxy serve` over its control socket: its calls, its sessions, and the restart of a server.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::running::RunningProxy;
use crate::admin::{CallDetails, CallSummary, LiveEvent};
use crate::cli::failure::CommandFailure;
use crate::cli::{setup, spinner};
use proxy_base::control::Instance;
use proxy_base::diagnostic::Diagnostic;
use proxy_model::operator_api::{
    AccountChange, AccountChangeNoted, EndedSessions, ReplicaList, RestartReport, SessionEnd, SessionList,
};
use proxy_wire::http::{HttpAnswer, HttpError};

/// Whether calls are being recorded, and those that were, oldest first. Blocking.
pub(in crate::cli) fn calls(instance: &Instance) -> Result<(bool, Vec<CallSummary>), CommandFailure> {
    #[derive(Deserialize)]
    struct Recorded {
        recording: bool,
        calls: Vec<CallSummary>,
    }
    let running = RunningProxy::of(instance, None);
    let recorded: Recorded = setup::runtime()?.block_on(running.read("/calls"))?;
    Ok((recorded.recording, recorded.calls))
}

/// A recorded call with its params and results. Blocking.
pub(in crate::cli) fn call_details(
    instance: &Instance,
    id: &str,
    show_secrets: bool,
) -> Result<CallDetails, CommandFailure> {
    read_call(instance, id, "", show_secrets)
}

/// A recorded call as a test function. Blocking.
pub(in crate::cli) fn call_as_test(
    instance: &Instance,
    id: &str,
    show_secrets: bool,
) -> Result<String, CommandFailure> {
    #[derive(Deserialize)]
    struct CallTest {
        test: String,
    }
    let answer: CallTest = read_call(instance, id, "/test", show_secrets)?;
    Ok(answer.test)
}

/// Reads a path below `/calls/ID` in the control API.
fn read_call<T: DeserializeOwned>(
    instance: &Instance,
    id: &str,
    part: &str,
    show_secrets: bool,
) -> Result<T, CommandFailure> {
    let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let secrets = if show_secrets { "?secrets=show" } else { "" };
    let running = RunningProxy::of(instance, None);
    setup::runtime()?.block_on(running.read(&format!("/calls/{id}{part}{secrets}")))
}

/// Follows what happens until `on_event` returns false or Ctrl-C is pressed. Calls are recorded once `begun` is called.
pub(in crate::cli) fn follow(
    instance: &Instance,
    begun: impl FnOnce(),
    mut on_event: impl FnMut(LiveEvent) -> bool,
) -> Result<(), CommandFailure> {
    // A newer version may know more events.
    let on_data = |data: &str| Ok(serde_json::from_str::<LiveEvent>(data).map_or(true, &mut on_event));
    events(instance, "/events", begun, on_data)
}

/// Passes on the lines of a recording until Ctrl-C is pressed.
pub(in crate::cli) fn record(
    instance: &Instance,
    mut on_line: impl FnMut(&str) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    events(instance, "/recording", || {}, |line| on_line(line).map(|()| true))
}

/// Reads events until `on_data` returns false or fails, or Ctrl-C is pressed.
fn events(
    instance: &Instance,
    target: &str,
    begun: impl FnOnce(),
    mut on_data: impl FnMut(&str) -> Result<bool, CommandFailure>,
) -> Result<(), CommandFailure> {
    let running = RunningProxy::of(instance, None);
    setup::runtime()?.block_on(async {
        let mut events = running.answered(running.client.get(target).await).await?.events();
        begun();
        // One future for all rounds: a signal that arrives while an event is handled must not be lost.
        let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                _ = &mut interrupted => return Ok(()),
            };
            let data = match event {
                Ok(Some(event)) => event.data,
                Ok(None) => return Err(running.gone(&HttpError::Broken("the connection was closed".to_owned()))),
                Err(error) => return Err(running.gone(&error)),
            };
            if !on_data(&data)? {
                return Ok(());
            }
        }
    })
}

/// The HTTP sessions. Blocking.
pub(in crate::cli) fn sessions(instance: &Instance) -> Result<SessionList, CommandFailure> {
    let running = RunningProxy::of(instance, None);
    setup::runtime()?.block_on(running.read("/sessions"))
}

/// The processes that share the store. Blocking.
pub(in crate::cli) fn replicas(instance: &Instance) -> Result<ReplicaList, CommandFailure> {
    let running = RunningProxy::of(instance, None);
    setup::runtime()?.block_on(running.read("/replicas"))
}

/// Ends HTTP sessions. Blocking.
pub(in crate::cli) fn end_sessions(instance: &Instance, which: &SessionEnd) -> Result<EndedSessions, CommandFailure> {
    let running = RunningProxy::of(instance, None);
    let body = serde_json::to_string(which).map_err(|error| super::failed(error.to_string()))?;
    setup::runtime()?.block_on(async {
        let answer = running.client.post("/sessions/end", body).await;
        running.json(running.answered(answer).await?).await
    })
}

/// Has a running proxy write into its audit log what was done with an account. Blocking.
pub(in crate::cli) fn note_account(
    instance: &Instance,
    change: &AccountChange,
) -> Result<AccountChangeNoted, CommandFailure> {
    let running = RunningProxy::of(instance, None);
    let body = serde_json::to_string(change).map_err(|error| super::failed(error.to_string()))?;
    setup::runtime()?.block_on(async {
        let answer = running.client.post("/accounts", body).await;
        running.json(running.answered(answer).await?).await
    })
}

/// Restarts a server and returns what the running proxy says about it. Blocking.
pub(in crate::cli) fn restart(instance: &Instance, server: &str) -> Result<RestartReport, CommandFailure> {
    let running = RunningProxy::of(instance, None);
    let restarting = async {
        let answer = running.client.post(&format!("/servers/{server}/restart"), String::new()).await;
        running.json(running.answered(answer).await?).await
    };
    setup::runtime()?.block_on(spinner::with(&format!("restarting {server}"), restarting))
}

impl RunningProxy {
    async fn read<T: for<'a> Deserialize<'a>>(&self, target: &str) -> Result<T, CommandFailure> {
        let answer = self.answered(self.client.get(target).await).await?;
        self.json(answer).await
    }

    async fn json<T: for<'a> Deserialize<'a>>(&self, mut answer: HttpAnswer) -> Result<T, CommandFailure> {
        let body = answer.body().await.map_err(|error| self.gone(&error))?;
        serde_json::from_slice(&body)
            .map_err(|error| super::failed(format!("unexpected answer from process {}: {error}", self.pid)))
    }

    /// The answer, or a refusal, whose text is shown to the user.
    async fn answered(&self, answer: Result<HttpAnswer, HttpError>) -> Result<HttpAnswer, CommandFailure> {
        let mut answer = answer.map_err(|error| self.gone(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body: Value = serde_json::from_slice(&answer.body().await.unwrap_or_default()).unwrap_or_default();
        let problem = Diagnostic::error(body["error"].as_str().map_or_else(|| status.to_string(), str::to_owned));
        let hint = body["hint"].as_str().map(str::to_owned);
        let other_version = || format!("process {} may run a different version: restart it", self.pid);
        let hint = hint.or_else(|| (body["error"] == "unknown path").then(other_version));
        Err(CommandFailure::failed(match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }))
    }

    fn gone(&self, error: &HttpError) -> CommandFailure {
        super::failed(self.lost(error))
    }
}
