//! Who wants to hear of changes, and what changed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::LoggingLevel;
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};

pub struct Audience {
    inner: Mutex<Inner>,
}

struct Inner {
    extra_tool: bool,
    extra_prompt: bool,
    log_level: LoggingLevel,
    sessions: Vec<Peer<RoleServer>>,
    subscriptions: HashMap<u64, SubscriptionSink>,
    subscriptions_ever: u64,
}

#[derive(Clone, Copy)]
pub enum Kind {
    Tools,
    Prompts,
}

impl Default for Audience {
    fn default() -> Self {
        let inner = Inner {
            extra_tool: false,
            extra_prompt: false,
            log_level: LoggingLevel::Debug,
            sessions: Vec::new(),
            subscriptions: HashMap::new(),
            subscriptions_ever: 0,
        };
        Self { inner: Mutex::new(inner) }
    }
}

impl Audience {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the thing that comes and goes is there.
    pub fn has_extra(&self, kind: Kind) -> bool {
        match kind {
            Kind::Tools => self.inner().extra_tool,
            Kind::Prompts => self.inner().extra_prompt,
        }
    }

    pub fn log_level(&self) -> LoggingLevel {
        self.inner().log_level
    }

    pub fn set_log_level(&self, level: LoggingLevel) {
        self.inner().log_level = level;
    }

    pub fn join(&self, session: Peer<RoleServer>) {
        let mut inner = self.inner();
        inner.sessions.retain(|peer| !peer.is_transport_closed());
        inner.sessions.push(session);
    }

    /// The number is the one to [leave](Self::leave) with: clients may choose the same ids for their subscriptions.
    pub fn subscribe(&self, sink: SubscriptionSink) -> u64 {
        let mut inner = self.inner();
        inner.subscriptions_ever += 1;
        let number = inner.subscriptions_ever;
        inner.subscriptions.insert(number, sink);
        number
    }

    pub fn leave(&self, number: u64) {
        self.inner().subscriptions.remove(&number);
    }

    /// Changes the list and tells everybody.
    pub async fn change(&self, kind: Kind) {
        let (sessions, subscriptions) = {
            let mut inner = self.inner();
            match kind {
                Kind::Tools => inner.extra_tool = !inner.extra_tool,
                Kind::Prompts => inner.extra_prompt = !inner.extra_prompt,
            }
            (inner.sessions.clone(), inner.subscriptions.clone())
        };
        // Whoever left needs no news.
        for session in sessions {
            let _ = match kind {
                Kind::Tools => session.notify_tool_list_changed().await,
                Kind::Prompts => session.notify_prompt_list_changed().await,
            };
        }
        for subscription in subscriptions.into_values() {
            let _ = match kind {
                Kind::Tools => subscription.notify_tool_list_changed().await,
                Kind::Prompts => subscription.notify_prompt_list_changed().await,
            };
        }
    }
}
