//! The client of a running call: how it is told and asked things in the middle of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::conversation::Asking;
use super::methods::Client;
use super::sink::MessageSink;
use super::task_names::{self, TaskNames};
use crate::backend::{Peer, Question};
use crate::json::{Object, Raw, RawRef};
use crate::model::{Abilities, Owner, is_protocol_method};
use crate::wire::{Revision, RpcError, Severity, encode, key, without_reserved};

/// Where news of a call goes. A conversation has a new place for them with every round.
#[derive(Debug)]
struct News {
    sink: MessageSink,
    /// Under which progress is wanted, as it was written.
    token: Option<Raw>,
    last: f64,
    /// The client as it is in this round: what it declares may change from one to the next.
    client: Arc<Client>,
}

/// How a task stands, as a session-based server may tell.
const TASK_STATUS: &str = "notifications/tasks/status";

/// How the client of this call is asked.
#[derive(Debug)]
pub(super) enum Way {
    /// It cannot be asked in this call.
    None,
    /// By a request on the stream of its own.
    Request,
    /// By ending the request with a question.
    Conversation(Asking),
}

#[derive(Debug)]
pub(super) struct ClientPeer {
    client: Arc<Client>,
    news: Mutex<News>,
    way: Way,
    wants_progress: bool,
    /// The task that the request is about.
    task: Option<TaskNames>,
}

impl ClientPeer {
    pub(super) fn new(client: &Arc<Client>, sink: &MessageSink, token: Option<Raw>, way: Way) -> Arc<Self> {
        let wants_progress = token.is_some();
        let news = Mutex::new(News { sink: sink.clone(), token, last: f64::NEG_INFINITY, client: Arc::clone(client) });
        Arc::new(ClientPeer { client: Arc::clone(client), news, way, wants_progress, task: None })
    }

    /// The client of a request about a task.
    pub(super) fn of_task(client: &Arc<Client>, sink: &MessageSink, way: Way, task: TaskNames) -> Arc<Self> {
        let news =
            Mutex::new(News { sink: sink.clone(), token: None, last: f64::NEG_INFINITY, client: Arc::clone(client) });
        Arc::new(ClientPeer { client: Arc::clone(client), news, way, wants_progress: false, task: Some(task) })
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on news go to another request of the same client.
    pub(super) fn goes_on_in(&self, client: &Arc<Client>, sink: &MessageSink, token: Option<Raw>) {
        *self.news() = News { sink: sink.clone(), token, last: f64::NEG_INFINITY, client: Arc::clone(client) };
    }

    /// Between two requests nobody can be told anything.
    pub(super) fn waits(&self) {
        let mut news = self.news();
        (news.sink, news.token) = (MessageSink::Nowhere, None);
    }
}

impl Peer for ClientPeer {
    fn owner(&self) -> &Owner {
        &self.client.owner
    }

    fn abilities(&self) -> Abilities {
        self.client.abilities
    }

    fn askable(&self) -> Abilities {
        match self.way {
            Way::None => Abilities::default(),
            _ => self.news().client.abilities,
        }
    }

    fn declared(&self) -> Option<&RawRef> {
        self.client.declared()
    }

    fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    fn log_level(&self) -> Option<Severity> {
        self.news().client.level.wanted()
    }

    fn understands_url_error(&self) -> bool {
        self.client.revision == Revision::V2025_11_25 && self.client.abilities.url
    }

    /// Values that do not increase are not passed on: the protocol wants them to.
    fn progress(&self, params: &RawRef) {
        let Ok(object) = Object::of(params) else { return };
        let value = object.get("progress").and_then(|value| value.get().parse::<f64>().ok());
        let mut news = self.news();
        let Some(value) = value.filter(|value| *value > news.last) else { return };
        let Some(token) = &news.token else { return };
        let params = object.edit().set(key::PROGRESS_TOKEN, token).finish_raw();
        news.last = value;
        news.sink.try_send(encode::notification("notifications/progress", Some(without_reserved(&params).get())));
    }

    fn log(&self, params: &RawRef) {
        let Ok(object) = Object::of(params) else { return };
        let severity = object.string("level").and_then(|level| Severity::parse(&level));
        let news = self.news();
        if severity.is_none_or(|severity| !news.client.level.takes(severity)) {
            return;
        }
        let params = task_names::outward(self.task.as_ref(), params);
        news.sink.try_send(encode::notification("notifications/message", Some(params.get())));
    }

    fn tell(&self, method: &str, params: Option<&RawRef>) {
        if method == TASK_STATUS {
            let told = self.task.as_ref().zip(params).and_then(|(task, params)| task.status(params));
            if let Some(params) = told.filter(|_| self.client.revision == Revision::V2025_11_25) {
                self.news().sink.try_send(encode::notification(method, Some(params.get())));
            }
            return;
        }
        // Of the protocol's own this one alone concerns a call, in the one revision that has it.
        let of_call = method == "notifications/elicitation/complete" && self.client.revision == Revision::V2025_11_25;
        if is_protocol_method(method) && !of_call {
            return;
        }
        let params = params.map(|params| task_names::outward(self.task.as_ref(), params));
        self.news().sink.try_send(encode::notification(method, params.as_deref().map(RawRef::get)));
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let refuse = |error| std::future::ready(Err(error)).boxed();
        match (&self.way, &self.client.questions) {
            (Way::Conversation(asking), _) => asking.ask(question),
            (Way::Request, Some(questions)) => {
                let sink = self.news().sink.clone();
                let params = match super::older_question::told(self.client.revision, &question) {
                    Ok(params) => task_names::outward(self.task.as_ref(), &params).into_owned(),
                    Err(error) => return refuse(error),
                };
                let (questions, task) = (Arc::clone(questions), self.task.clone());
                let answer = async move {
                    let answer = questions.ask(sink, question.method, params).await?;
                    Ok(task_names::inward(task.as_ref(), &answer).into_owned())
                };
                answer.boxed()
            }
            _ => refuse(RpcError::method_not_found(&question.method)),
        }
    }

    fn takes_form(&self, question: &Question) -> bool {
        self.askable().form
            && match &self.way {
                Way::None => false,
                Way::Conversation(_) => true,
                Way::Request => {
                    let reachable =
                        !matches!(self.news().sink, MessageSink::Nowhere) && self.client.questions.is_some();
                    reachable && super::older_question::told(self.client.revision, question).is_ok()
                }
            }
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        let sink = self.client.subscriptions.as_ref()?.sink();
        self.client.questions.as_ref()?;
        Some(ClientPeer::new(&self.client, sink, None, Way::Request))
    }

    fn gone(&self) -> Option<CancellationToken> {
        self.client.gone.clone()
    }
}
