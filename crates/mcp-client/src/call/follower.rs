//! Subscriptions to updates of a backend's resources.

use std::fmt;
use std::sync::Arc;

use super::session_end::SessionEnd;
use proxy_model::{ClientProfile, Owner, PersonKey};

/// Called with the URI of an updated resource, as the server names it. Runs on the task that reads the server's messages,
/// so it must not block.
pub type UpdateListener = Arc<dyn Fn(&str) + Send + Sync>;

/// The client that subscribes. Decides on which connection the subscription is made.
#[derive(Clone, Debug)]
pub struct Subscriber {
    pub owner: Owner,
    /// Whose share of the server's connections the client uses.
    pub person: Owner,
    /// Whose connection is used at servers where everybody has their own.
    pub person_key: Option<PersonKey>,
    pub profile: ClientProfile,
    /// Says when the client's session is over. `None` if the client has no session.
    pub gone: Option<SessionEnd>,
}

/// Unsubscribes when dropped.
pub struct Subscription {
    uri: Arc<str>,
    unsubscribe: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Subscription {
    pub fn new(uri: Arc<str>, unsubscribe: impl FnOnce() + Send + Sync + 'static) -> Self {
        Subscription { uri, unsubscribe: Some(Box::new(unsubscribe)) }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Subscription({})", self.uri)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(unsubscribe) = self.unsubscribe.take() {
            unsubscribe();
        }
    }
}
