//! Implements [`Peer`] for the requesting client: sends it progress, log messages and questions while its request runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};

use super::question_channel::QuestionSender;
use super::sink::MessageSink;
use super::state::Client;
use super::task_ids;
use super::task_ids::TaskIds;
use proxy_json::{Object, Raw, RawRef};
use proxy_mcp_client::{Peer, Question, SessionEnd};
use proxy_model::{Abilities, Era, Owner, PersonKey, is_protocol_method};
use proxy_telemetry::{CallRecording, QuestionAction};
use proxy_wire::{LoggingLevel, Revision, RpcError, encode, key, without_reserved};

/// The request that currently carries the call. A stateless client sends a new request for every round of a call.
#[derive(Debug)]
struct Round {
    sink: MessageSink,
    /// The progress token, byte for byte.
    token: Option<Raw>,
    last_progress: f64,
    /// The client as this request declares it: its capabilities may change from one round to the next.
    client: Arc<Client>,
    /// What is noted of this request.
    recording: Option<Arc<CallRecording>>,
}

impl Round {
    fn new(client: &Arc<Client>, sink: &MessageSink, recording: Option<&Arc<CallRecording>>) -> Self {
        Round {
            sink: sink.clone(),
            token: None,
            last_progress: f64::NEG_INFINITY,
            client: Arc::clone(client),
            recording: recording.cloned(),
        }
    }
}

/// The notification about the status of a task, which session-based servers may send.
const TASK_STATUS: &str = "notifications/tasks/status";

/// The client of the present session of a connection, if there is one.
pub(crate) type CurrentSession = Arc<Mutex<Option<Arc<Client>>>>;

/// How the client is asked something during a call.
#[derive(Debug)]
pub(crate) enum AskBy {
    /// The client cannot be asked in this call.
    Nothing,
    /// By a JSON-RPC request, on the stream of the client's own request.
    Request,
    /// By a JSON-RPC request in the session that the connection has at that time: another `initialize` replaces it.
    Session(CurrentSession),
    /// By ending the client's request with the question as its result.
    Conversation(QuestionSender),
}

/// The client that made a request, for everything that notifies or asks it while the request runs.
#[derive(Debug)]
pub(crate) struct ClientPeer {
    client: Arc<Client>,
    round: Mutex<Round>,
    ask_by: AskBy,
    wants_progress: AtomicBool,
    /// The task that the request is about.
    task: OnceLock<TaskIds>,
}

impl ClientPeer {
    pub(crate) fn new(
        client: &Arc<Client>,
        sink: &MessageSink,
        ask_by: AskBy,
        recording: Option<&Arc<CallRecording>>,
    ) -> Arc<Self> {
        Arc::new(ClientPeer {
            client: Arc::clone(client),
            round: Mutex::new(Round::new(client, sink, recording)),
            ask_by,
            wants_progress: AtomicBool::new(false),
            task: OnceLock::new(),
        })
    }

    /// A peer for the same client and request that asks questions in another way.
    pub(crate) fn asked_by(&self, ask_by: AskBy) -> Arc<Self> {
        let round = self.round();
        let peer = ClientPeer::new(&self.client, &round.sink, ask_by, round.recording.as_ref());
        peer.set_progress_token(round.token.clone());
        peer
    }

    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Reports progress under this token from now on.
    pub(crate) fn set_progress_token(&self, token: Option<Raw>) {
        self.wants_progress.store(token.is_some(), Ordering::Relaxed);
        self.round().token = token;
    }

    /// The request is about this task, which client and server know by different ids.
    pub(crate) fn set_task(&self, task: TaskIds) {
        // A request is about one task only.
        let _ = self.task.set(task);
    }

    /// The client that is asked by JSON-RPC requests.
    fn asked(&self) -> Arc<Client> {
        let session = match &self.ask_by {
            AskBy::Session(session) => session.lock().clone(),
            _ => None,
        };
        session.unwrap_or_else(|| Arc::clone(&self.client))
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock()
    }

    /// The call continues in another request of the same client.
    pub(crate) fn continue_in(&self, peer: &ClientPeer) {
        let next = peer.round();
        let round =
            Round { token: next.token.clone(), ..Round::new(&next.client, &next.sink, next.recording.as_ref()) };
        drop(next);
        let before = std::mem::replace(&mut *self.round(), round);
        if let (Some(before), Some(now)) = (before.recording, &self.round().recording) {
            before.continue_in(now);
        }
    }

    /// Discards messages from now on: between two requests of a stateless client there is no stream to send them on.
    pub(crate) fn suspend(&self) {
        let mut round = self.round();
        (round.sink, round.token) = (MessageSink::Discard, None);
    }
}

impl Peer for ClientPeer {
    fn owner(&self) -> &Owner {
        &self.client.owner
    }

    fn person(&self) -> Owner {
        Owner::of_share(&self.client.principal)
    }

    fn person_key(&self) -> Option<PersonKey> {
        self.client.surface_handle.person_key().cloned()
    }

    fn proxy_profile(&self) -> Option<&Arc<str>> {
        self.client.principal.profile()
    }

    fn era(&self) -> Era {
        self.client.revision.era()
    }

    fn abilities(&self) -> Abilities {
        self.client.abilities
    }

    fn askable(&self) -> Abilities {
        match &self.ask_by {
            AskBy::Nothing => Abilities::default(),
            AskBy::Session(_) => self.asked().abilities,
            _ => self.round().client.abilities,
        }
    }

    fn declared(&self) -> Option<&RawRef> {
        self.client.declared()
    }

    fn wants_progress(&self) -> bool {
        self.wants_progress.load(Ordering::Relaxed)
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        self.round().client.level.threshold()
    }

    fn understands_url_error(&self) -> bool {
        self.client.revision == Revision::V2025_11_25 && self.client.abilities.url
    }

    /// Forwards progress. Values that do not increase are dropped, because MCP requires increasing values.
    fn progress(&self, params: &RawRef) {
        let Ok(object) = Object::of(params) else { return };
        let value = object.get("progress").and_then(|value| value.get().parse::<f64>().ok());
        let mut round = self.round();
        let Some(value) = value.filter(|value| *value > round.last_progress) else { return };
        let Some(token) = &round.token else { return };
        let params = object.edit().set(key::PROGRESS_TOKEN, token).finish_raw();
        round.last_progress = value;
        round.sink.try_send(encode::notification("notifications/progress", Some(without_reserved(&params).get())));
    }

    fn log(&self, params: &RawRef) {
        let Ok(object) = Object::of(params) else { return };
        let severity = object.string("level").and_then(|level| LoggingLevel::parse(&level));
        let round = self.round();
        if severity.is_none_or(|severity| !round.client.level.includes(severity)) {
            return;
        }
        let params = task_ids::for_client(self.task.get(), params);
        round.sink.try_send(encode::notification("notifications/message", Some(params.get())));
    }

    fn notify(&self, method: &str, params: Option<&RawRef>) {
        if method == TASK_STATUS {
            let status_params = self.task.get().zip(params).and_then(|(task, params)| task.status(params));
            if let Some(params) = status_params.filter(|_| self.client.revision == Revision::V2025_11_25) {
                self.round().sink.try_send(encode::notification(method, Some(params.get())));
            }
            return;
        }
        // Of the notifications that MCP defines, only this one concerns a call, and only 2025-11-25 has it.
        let concerns_call =
            method == "notifications/elicitation/complete" && self.client.revision == Revision::V2025_11_25;
        if is_protocol_method(method) && !concerns_call {
            return;
        }
        let params = params.map(|params| task_ids::for_client(self.task.get(), params));
        self.round().sink.try_send(encode::notification(method, params.as_deref().map(RawRef::get)));
    }

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        self.round().sink.room()
    }

    fn hops(&self) -> Option<&str> {
        self.client.facts.hops.as_deref()
    }

    fn relays(&self) -> bool {
        true
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let refuse = |error| std::future::ready(Err(error)).boxed();
        let asked = self.asked();
        let recording = self.round().recording.clone();
        if let Some(recording) = &recording {
            recording.asked(&question.text());
        }
        match (&self.ask_by, asked.session()) {
            (AskBy::Conversation(asking), _) => {
                let answer = asking.ask(question);
                async move {
                    let answer = answer.await;
                    if let Some(recording) = recording {
                        recording.answered(answer.as_deref().ok());
                    }
                    answer
                }
                .boxed()
            }
            (AskBy::Request | AskBy::Session(_), Some(session)) => {
                let sink = self.round().sink.clone();
                let params = match crate::era::older_question::params_for(asked.revision, &question) {
                    Ok(params) => task_ids::for_client(self.task.get(), &params).into_owned(),
                    Err(error) => return refuse(error),
                };
                let (questions, task) = (Arc::clone(&session.questions), self.task.get().cloned());
                let timer = session.timer.clone();
                let answer = async move {
                    let answer = questions.ask(sink, question.method, params).await;
                    if let Some(recording) = recording {
                        recording.answered(answer.as_deref().ok());
                    }
                    if let Some(timer) = timer {
                        timer.stats().question_answered(action(answer.as_deref().ok()));
                    }
                    let answer = answer?;
                    Ok(task_ids::for_server(task.as_ref(), &answer).into_owned())
                };
                answer.boxed()
            }
            _ => refuse(RpcError::method_not_found(&question.method)),
        }
    }

    fn supports(&self, question: &Question) -> bool {
        question.is_within(self.askable())
            && match &self.ask_by {
                AskBy::Nothing => false,
                AskBy::Conversation(_) => true,
                AskBy::Request | AskBy::Session(_) => {
                    let asked = self.asked();
                    let reachable = !matches!(self.round().sink, MessageSink::Discard) && asked.session().is_some();
                    reachable && crate::era::older_question::params_for(asked.revision, question).is_ok()
                }
            }
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        let sink = self.client.subscriptions()?.sink();
        Some(ClientPeer::new(&self.client, sink, AskBy::Request, None))
    }

    fn gone(&self) -> Option<SessionEnd> {
        self.client.session().map(|session| session.gone.clone())
    }
}

/// How a question was answered; `None` is an error.
pub(crate) fn action(answer: Option<&RawRef>) -> QuestionAction {
    let Some(answer) = answer else { return QuestionAction::Fail };
    let action = Object::of(answer).ok().and_then(|answer| answer.string("action").map(|action| action.to_string()));
    QuestionAction::of(action.as_deref())
}
