//! What a running handler may do, for one request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::asking;
use super::dispatch::Dispatcher;
use super::handler_peer::HandlerPeer;
use super::request_state::RequestState;
use super::test_overrides::TestOverrides;
use crate::backend::{Answer, Call, CallError, Peer};
use crate::json::{Object, Raw, RawRef, quote};
use crate::model::{ItemKind, ItemRef, Request, error_result};
use crate::script::{Host, JournalCursor, LogLevel, Question, Stop};
use crate::store::Store;

#[derive(Clone)]
pub(super) struct RequestHost {
    pub(super) dispatcher: Dispatcher,
    pub(super) runtime: Handle,
    pub(super) cancel: CancellationToken,
    /// The client: a server that a handler calls may ask it too.
    pub(super) peer: Option<Arc<dyn Peer>>,
    pub(super) request: Request,
    pub(super) store: Store,
    /// Of a request that nothing may outlive.
    pub(super) request_state: Option<Arc<RequestState>>,
    /// Of the session script.
    pub(super) namespace: Arc<str>,
    /// How often somebody was to be asked something.
    pub(super) asked: Arc<AtomicU64>,
    /// Where what is done is written down; none if nobody can be asked anything.
    pub(super) line: Option<JournalCursor>,
    pub(super) test_overrides: Option<Arc<dyn TestOverrides>>,
}

impl RequestHost {
    /// Calls a backend as a part of this request.
    pub(super) fn dispatch(
        &self,
        target: &ItemRef,
        params: Raw,
        timeout: Option<Duration>,
        line: Option<JournalCursor>,
    ) -> Result<Answer, CallError> {
        let runs_here = self.dispatcher.runs_here(&target.backend);
        let call = Call {
            method: target.kind.use_method().into(),
            params,
            timeout,
            cancel: self.cancel.clone(),
            peer: self
                .peer
                .clone()
                .map(|peer| Arc::new(HandlerPeer { peer, asked: Arc::clone(&self.asked) }) as Arc<dyn Peer>),
            passes_questions_on: false,
            takes_tasks: false,
            declares_tasks: false,
            host: runs_here.then(|| Arc::new(RequestHost { line, ..self.clone() }) as Arc<dyn Host>),
        };
        self.dispatcher.call_blocking(&target.backend, call, &self.runtime)
    }
}

impl Host for RequestHost {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        timeout: Option<Duration>,
        line: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        let params = match params(target, arguments) {
            Ok(params) => params,
            Err(reason) => return Ok(error_result(&reason)),
        };
        match self.dispatch(target, params, timeout, line) {
            Ok(answer) => Ok(final_result(answer.result)),
            Err(CallError::Cancelled) => Err(Stop::Cancelled),
            Err(CallError::Asks) => Err(Stop::Input),
            Err(CallError::Rpc(error)) => Ok(error_result(&error.message())),
            Err(error) => Ok(error_result(&error.to_string())),
        }
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        let mut fields = fields.clone();
        // Set last: a script cannot speak in another tool's or user's name.
        fields.insert("tool".to_owned(), json!(self.request.name.as_ref()));
        fields.insert("user".to_owned(), json!(self.request.principal.sub.as_ref()));
        match &self.test_overrides {
            Some(test_overrides) => test_overrides.log(level, message, &fields),
            None => level.record(message, &fields),
        }
    }

    fn print(&self, text: &str) {
        if !self.test_overrides.as_ref().is_some_and(|test_overrides| test_overrides.print(text)) {
            self.log(LogLevel::Info, text, &Map::new());
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.cancel.is_cancelled().then_some(Stop::Cancelled)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let wait = async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Stop::Cancelled),
                () = future => Ok(()),
            }
        };
        crate::fiber::wait(wait, &self.runtime)
    }

    fn now(&self) -> SystemTime {
        self.test_overrides.as_ref().map_or_else(SystemTime::now, |test_overrides| test_overrides.now())
    }

    fn stands_in(&self, kind: &str, request: &RawRef) -> Option<Result<Raw, String>> {
        self.test_overrides.as_ref()?.stands_in(kind, request)
    }

    fn request(&self) -> Option<&Request> {
        Some(&self.request)
    }

    fn store(&self) -> Option<&Store> {
        if let Some(request_state) = &self.request_state {
            request_state.use_store();
        }
        Some(&self.store)
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn line(&self) -> Option<JournalCursor> {
        self.line.clone()
    }

    fn can_ask(&self, question: &Question) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.peer.as_ref().is_some_and(|peer| peer.takes_form(&asking::as_request(question)))
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        let Some(peer) = self.peer.as_ref().filter(|peer| peer.wants_progress()) else { return };
        let mut params = json!({ "progress": done });
        if let Some(total) = total {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        peer.progress(&crate::json::raw(&params));
    }
}

/// The params by which a backend knows what is meant.
fn params(target: &ItemRef, arguments: &RawRef) -> Result<Raw, String> {
    let text = match target.kind {
        ItemKind::Tool | ItemKind::Prompt => {
            format!("{{\"name\":{},\"arguments\":{}}}", quote(&target.name), arguments.get())
        }
        ItemKind::Resource | ItemKind::ResourceTemplate => {
            let object = Object::of(arguments).map_err(|error| error.to_string())?;
            let uri = object.string("uri").ok_or("a resource is read with {\"uri\": ...}")?;
            // A plain resource has one URI, whatever name the script gave it.
            let uri = if target.kind == ItemKind::Resource { target.name.to_string() } else { uri };
            format!("{{\"uri\":{}}}", quote(&uri))
        }
    };
    crate::json::valid(text).map_err(|error| error.to_string())
}

/// A script sees final results only: without the marks of an era, and with a reason where it is an error.
fn final_result(result: Raw) -> Raw {
    let Ok(object) = Object::of(&result) else {
        return error_result("the server answered with something that is not a result");
    };
    if object.string("resultType").is_some_and(|kind| kind != "complete") {
        return error_result("the server answered with a type of result that a script cannot use");
    }
    let failed = object.get("isError").is_some_and(|flag| flag.get() == "true");
    let explained = object.get("content").is_some_and(|content| content.get().contains("\"text\""));
    if failed && !explained {
        return error_result("the tool failed and gave no reason");
    }
    if object.get("resultType").is_none() {
        return result;
    }
    object.edit().remove("resultType").finish_raw()
}
