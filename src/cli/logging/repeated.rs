//! Suppresses repeated warnings about a server until they change: connecting to a server that is down is retried again and
//! again, and fails for the same reason each time.

use std::collections::HashMap;

use parking_lot::Mutex;
use tracing::callsite::Identifier;

/// The last warning of each kind about each server.
#[derive(Default)]
pub(super) struct Repeated(Mutex<HashMap<String, HashMap<Identifier, String>>>);

impl Repeated {
    /// Whether the last warning of this kind about this server was the same. Fields are not compared, because they contain
    /// details such as times.
    pub(super) fn is_known(&self, kind: Identifier, server: &str, message: &str) -> bool {
        let mut servers = self.0.lock();
        let last = servers.entry(server.to_owned()).or_default();
        let is_known = last.get(&kind).is_some_and(|last| last == message);
        if !is_known {
            last.insert(kind, message.to_owned());
        }
        is_known
    }

    /// The server works, or a different server has this name now: the next warning is new.
    pub(super) fn forget(&self, server: &str) {
        self.0.lock().remove(server);
    }
}
