//! A person's own account at a server: whether it is connected, and how the person is asked to connect it.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::call::{Asker, BackendCall, CallError, Peer, Question};
use proxy_config::{LogInAdvice, PersonalAccounts, ServerConfig};
use proxy_json::{Object, RawRef, hex, raw};
use proxy_model::{Credentials, Era, ItemKind, PersonKey};

/// How long the request of a stateless client waits for the person, before the client is asked again: proxies in between
/// often end a request after a minute.
const STATELESS_WAIT: Duration = Duration::from_secs(50);
/// How long a stateless client is asked again and again.
const STATELESS_TOTAL: Duration = Duration::from_secs(10 * 60);

#[derive(Debug)]
pub(super) struct PersonalAccount {
    pub(super) server: Arc<str>,
    /// What is behind the log-in, in the words of the config.
    pub(super) about: String,
    /// The name of the tool with which the person logs in.
    pub(super) tool_name: String,
    advice: LogInAdvice,
    credentials: Arc<dyn Credentials>,
    /// How long a client with a session is waited for.
    input_timeout: Duration,
}

impl PersonalAccount {
    /// `None` if people have no accounts of their own at this server.
    pub(super) fn of(
        server: &Arc<str>,
        config: &ServerConfig,
        person: &PersonKey,
        credentials: &Arc<dyn Credentials>,
    ) -> Option<Self> {
        let accounts = config.personal()?;
        Some(PersonalAccount {
            server: Arc::clone(server),
            about: accounts.about.clone(),
            tool_name: PersonalAccounts::tool_name(server),
            advice: accounts.advice(server, person.who()),
            credentials: Arc::clone(credentials),
            input_timeout: config.input_timeout,
        })
    }

    /// Whether there is a log-in. Nearly always it is known at once.
    pub(super) async fn is_connected(&self) -> bool {
        match self.credentials.ready() {
            Poll::Ready(shown) => shown.is_some(),
            Poll::Pending => matches!(self.credentials.authorization().await, Ok(Some(_))),
        }
    }

    /// What a client is told that cannot be asked.
    pub(super) fn log_in_first(&self) -> CallError {
        let LogInAdvice { text, url } = self.advice.clone();
        let reason = self.credentials.why_missing();
        CallError::LogInFirst { backend: Arc::clone(&self.server), advice: text, url, reason }
    }

    /// Asks the person to log in, and waits until that is done. The question says where, and carries nothing: the page finds
    /// out who opens it. `is_refused` says that the log-in there is now is of no use.
    ///
    /// # Errors
    /// If the client cannot be asked, or the person does not log in.
    pub(super) async fn ask(&self, call: &BackendCall, is_refused: bool) -> Result<(), CallError> {
        // From before the look at what there is now, so that nothing between is missed.
        let mut changed = self.credentials.changed();
        if !is_refused && self.is_connected().await {
            return Ok(());
        }
        let Some(url) = &self.advice.url else { return Err(self.log_in_first()) };
        let Some(peer) = &call.peer else { return Err(self.log_in_first()) };
        let is_stateless = peer.era() == Era::Stateless;
        let total = if is_stateless { STATELESS_TOTAL } else { self.input_timeout };
        let id = question_id();
        let question = self.question(url, &id, total);
        if ItemKind::used_by(&call.method).is_none() || !peer.supports(&question) {
            return Err(self.log_in_first());
        }
        self.credentials.look_out();
        let deadline = Instant::now() + total;
        loop {
            let agreed = tokio::select! {
                biased;
                answer = peer.ask(question.clone()) => answer.is_ok_and(|answer| is_accepted(&answer)),
                () = &mut changed => break,
                () = call.cancel.cancelled() => return Err(CallError::Cancelled),
                () = tokio::time::sleep_until(deadline) => false,
            };
            if !agreed {
                return Err(self.log_in_first());
            }
            let until = if is_stateless { deadline.min(Instant::now() + STATELESS_WAIT) } else { deadline };
            tokio::select! {
                biased;
                () = &mut changed => break,
                () = call.cancel.cancelled() => return Err(CallError::Cancelled),
                () = tokio::time::sleep_until(until) => {}
            }
            if Instant::now() >= deadline {
                return Err(self.log_in_first());
            }
        }
        complete(peer, &id);
        Ok(())
    }

    fn question(&self, url: &str, id: &str, answer_timeout: Duration) -> Question {
        let about = if self.about.is_empty() { String::new() } else { format!(" ({})", self.about) };
        let message = format!(
            "Log in at {}{about} with your own account. The page asks you to sign in first: it connects the account of \
             whoever opens it.",
            self.server
        );
        let params = raw(&json!({"mode": "url", "message": message, "url": url, "elicitationId": id}));
        Question { method: "elicitation/create".to_owned(), params, answer_timeout, asker: Asker::LogIn }
    }
}

/// A new `elicitationId`. It is no secret, so a failure of the random number generator is harmless.
fn question_id() -> String {
    let mut random = [0u8; 16];
    let _ = getrandom::fill(&mut random);
    hex(&random)
}

fn is_accepted(answer: &RawRef) -> bool {
    Object::of(answer).ok().and_then(|answer| answer.string("action")).as_deref() == Some("accept")
}

/// Tells a client with a session that the page is done with.
fn complete(peer: &Arc<dyn Peer>, id: &str) {
    peer.notify("notifications/elicitation/complete", Some(&raw(&json!({"elicitationId": id}))));
}
