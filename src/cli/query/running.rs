//! Asks a running `proxy serve` over its control socket.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Query, failed};
use crate::admin::{
    CallEvent, CallRequest, ExecRequest, FindRequest, FoundTool, ServerCallOutcome, ServerCallRequest, SurfaceReport,
    UseError,
};
use crate::cli::failure::CommandFailure;
use crate::cli::{setup, terminal};
use proxy_base::control::{Instance, instances};
use proxy_engine::gateway::script_source;
use proxy_json::Raw;
use proxy_mcp_client::{Asker, CallError, Peer, Question, StartPolicy};
use proxy_model::operator_api::{ProxyStatus, ServedSource, ServerLog};
use proxy_model::{ItemKind, NamedUser};
use proxy_wire::http::{EventStream, HttpAnswer, HttpError, SocketClient};

/// The maximum size of an answer or an event.
const MAX_BYTES: usize = 256 << 20;
/// How long to wait for the status of a running proxy.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
/// The same while looking for a matching proxy: a hanging proxy must not block the command.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);

/// A running proxy.
pub(in crate::cli) struct RunningProxy {
    pub(super) pid: u32,
    pub(super) client: SocketClient,
    /// The user to act as; the local user if there is none.
    user: Option<NamedUser>,
}

/// The status of a running proxy. Blocking.
pub(in crate::cli) fn status(instance: &Instance) -> Result<ProxyStatus, CommandFailure> {
    let running = RunningProxy::of(instance, None);
    setup::runtime()?.block_on(running.status())
}

/// The last lines that a server of a running proxy wrote to stderr, or why there are none. Blocking.
pub(in crate::cli) fn server_log(instance: &Instance, server: &str) -> Result<ServerLog, CommandFailure> {
    let running = RunningProxy::of(instance, None);
    setup::runtime()?.block_on(running.get("/logs", &[("server", server)]))
}

/// The newest running proxy that serves exactly this config. `None` if the query changes the config or wants the servers
/// started.
pub(super) async fn serving(query: &Query<'_>) -> Option<RunningProxy> {
    let config = &query.loaded.config;
    if query.start == StartPolicy::All {
        return None;
    }
    let (path, digest) = (config.path.as_ref()?, config.digest.as_ref()?);
    let path = std::fs::canonicalize(path).ok()?;
    let script = script_source(config, None).ok()?.digest();
    let source =
        ServedSource { path: path.display().to_string(), digest: digest.to_string(), script: script.to_string() };
    let mut running = instances(&setup::control_folder()).unwrap_or_default();
    running.sort_by_key(|instance| std::cmp::Reverse((instance.since, instance.pid)));
    for instance in running {
        let proxy = RunningProxy::of(&instance, query.user.named.as_ref());
        let status = tokio::time::timeout(SEARCH_TIMEOUT, proxy.status()).await;
        if status.is_ok_and(|status| status.is_ok_and(|status| status.source.as_ref() == Some(&source))) {
            return Some(proxy);
        }
    }
    None
}

impl RunningProxy {
    pub(super) fn of(instance: &Instance, user: Option<&NamedUser>) -> Self {
        let client = SocketClient::new(&instance.socket, MAX_BYTES);
        RunningProxy { pid: instance.pid, client, user: user.cloned() }
    }

    pub(in crate::cli) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) async fn status(&self) -> Result<ProxyStatus, CommandFailure> {
        match tokio::time::timeout(STATUS_TIMEOUT, self.get("/status", &[])).await {
            Ok(status) => status,
            Err(_) => Err(failed(format!("it did not answer within {} s", STATUS_TIMEOUT.as_secs()))),
        }
    }

    pub(super) async fn report(&self) -> Result<SurfaceReport, CommandFailure> {
        self.get("/surface", &[]).await
    }

    /// What is published to the user, and the history of every item.
    pub(super) async fn report_with_histories(&self) -> Result<SurfaceReport, CommandFailure> {
        self.get("/surface", &[("histories", "true")]).await
    }

    /// What is published to a user at a terminal: some servers list more for clients with elicitation.
    pub(super) async fn report_for_terminal(&self) -> Result<SurfaceReport, CommandFailure> {
        let capabilities = terminal::askable().to_capabilities().to_string();
        self.get("/surface", &[("capabilities", &capabilities)]).await
    }

    pub(super) async fn find(&self, asked: &FindRequest) -> Result<(Vec<FoundTool>, usize), CommandFailure> {
        #[derive(Deserialize)]
        struct Found {
            found: Vec<FoundTool>,
            of: usize,
        }
        let (limit, words) = (asked.limit.to_string(), asked.by_words.to_string());
        let parameters = [("query", asked.query.as_str()), ("limit", &limit), ("words", &words)];
        let Found { found, of } = self.get("/find", &parameters).await?;
        Ok((found, of))
    }

    /// The names of the tools that a search can find.
    pub(super) async fn searchable(&self) -> Result<BTreeSet<String>, CommandFailure> {
        #[derive(Deserialize)]
        struct Searchable {
            names: BTreeSet<String>,
        }
        let Searchable { names } = self.get("/searchable", &[]).await?;
        Ok(names)
    }

    pub(super) async fn use_item(&self, kind: ItemKind, key: &str, params: Raw) -> Result<Raw, UseError> {
        let request = CallRequest {
            kind: kind.noun().to_owned(),
            key: key.to_owned(),
            params,
            user: self.user.clone(),
            capabilities: terminal::askable().to_capabilities(),
        };
        self.events("/call", &request).await
    }

    pub(super) async fn exec(&self, script: &str, data: &Value) -> Result<Raw, UseError> {
        let request = ExecRequest {
            script: script.to_owned(),
            data: data.clone(),
            user: self.user.clone(),
            capabilities: terminal::askable().to_capabilities(),
        };
        self.events("/exec", &request).await
    }

    /// Calls a server directly, regardless of what is published.
    pub(in crate::cli) async fn call_server(&self, call: ServerCallRequest) -> Result<Raw, CallError> {
        let lost = |reason: String| CallError::Lost { backend: call.server.as_str().into(), reason };
        let body = serde_json::to_string(&call).map_err(|error| lost(error.to_string()))?;
        let answer = self.client.post("/servers/call", body).await;
        let body = self.accepted(answer).await.map_err(lost)?.body().await;
        let body = body.map_err(|error| lost(self.lost(&error)))?;
        let outcome: ServerCallOutcome = serde_json::from_slice(&body).map_err(|error| lost(error.to_string()))?;
        outcome.into_result(&call.server)
    }

    /// Reads JSON.
    async fn get<T: for<'a> Deserialize<'a>>(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<T, CommandFailure> {
        let claims = self.user.as_ref().map(|user| Value::Object(user.claims.clone()).to_string());
        let user = self.user.iter().map(|user| ("user", user.sub.as_str()));
        let claims = claims.iter().map(|claims| ("claims", claims.as_str()));
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters.iter().copied().chain(user).chain(claims))
            .finish();
        let answer = self.client.get(&format!("{path}?{query}")).await;
        let body = self.accepted(answer).await.map_err(failed)?.body().await;
        let body = body.map_err(|error| failed(self.lost(&error)))?;
        serde_json::from_slice(&body)
            .map_err(|error| failed(format!("unexpected answer from process {}: {error}", self.pid)))
    }

    /// Sends a request and handles its events until the result arrives.
    async fn events(&self, path: &str, request: &impl serde::Serialize) -> Result<Raw, UseError> {
        let body = serde_json::to_string(request).map_err(|error| UseError::Failed(error.to_string()))?;
        let answer = self.client.post(path, body).await;
        let mut events = self.accepted(answer).await.map_err(UseError::Failed)?.events();
        let user = terminal::user();
        loop {
            let event = self.next(&mut events).await.map_err(UseError::Failed)?;
            match event {
                CallEvent::Progress(params) => {
                    if let Some(user) = &user {
                        user.progress(&params);
                    }
                }
                CallEvent::Log(_) => {}
                CallEvent::Elicitation { id, method, params, answer_seconds } => {
                    let answer_timeout = Duration::from_secs(answer_seconds);
                    self.ask(user.as_ref(), id, Question { method, params, answer_timeout, asker: Asker::Server });
                }
                CallEvent::Result(result) => return Ok(result),
                CallEvent::Error { unknown: true, .. } => return Err(UseError::Unknown),
                CallEvent::Error { message, .. } => return Err(UseError::Failed(message)),
            }
        }
    }

    async fn next(&self, events: &mut EventStream) -> Result<CallEvent, String> {
        match events.next().await {
            Ok(Some(event)) => serde_json::from_str(&event.data)
                .map_err(|error| format!("unexpected event from process {}: {error}", self.pid)),
            Ok(None) => Err(self.lost(&HttpError::Broken("the connection was closed".to_owned()))),
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Asks the user at the terminal, while other events arrive. Without a terminal, the elicitation is cancelled.
    fn ask(&self, user: Option<&Arc<terminal::TerminalUser>>, id: u64, question: Question) {
        let asked = user.map(|user| user.ask(question));
        let client = self.client.clone();
        tokio::spawn(async move {
            let answer = match asked {
                Some(asked) => asked.await.ok(),
                None => None,
            };
            let answer =
                answer.map_or_else(|| json!({"action": "cancel"}).to_string(), |answer| answer.get().to_owned());
            if let Err(error) = client.post(&format!("/elicitations/{id}"), answer).await {
                tracing::debug!(%error, "cannot deliver the answer to an elicitation");
            }
        });
    }

    /// The answer, or the reason for a refusal.
    async fn accepted(&self, answer: Result<HttpAnswer, HttpError>) -> Result<HttpAnswer, String> {
        let mut answer = answer.map_err(|error| self.lost(&error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let body = answer.body().await.unwrap_or_default();
        let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
        let reason = problem["error"].as_str().map_or_else(|| answer.status().to_string(), str::to_owned);
        Err(format!("process {} (`proxy serve`) refused: {reason}", self.pid))
    }

    pub(super) fn lost(&self, error: &HttpError) -> String {
        format!("process {} (`proxy serve`) exited before it answered: {error}", self.pid)
    }
}
