//! The connections of clients that another process wants to hold.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often another process is asked for the same connection.
const ASK_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Clone, Default)]
pub(super) struct Wishes(Arc<State>);

#[derive(Default)]
struct State {
    /// The connections that this process holds, by name.
    held: Mutex<HashMap<String, Arc<Notify>>>,
    /// When another process was asked for a connection.
    asked: Mutex<HashMap<String, Instant>>,
}

/// The wish of other processes for one connection.
pub(super) struct Wish {
    wishes: Wishes,
    connection: String,
    made: Arc<Notify>,
}

impl Wishes {
    /// The wish for a connection that this process holds.
    pub(super) fn of(&self, connection: String) -> Wish {
        let made = Arc::new(Notify::new());
        self.0.held.lock().insert(connection.clone(), Arc::clone(&made));
        Wish { wishes: self.clone(), connection, made }
    }

    /// Another process wants a connection.
    pub(super) fn make(&self, connection: &str) {
        if let Some(made) = self.0.held.lock().get(connection) {
            made.notify_one();
        }
    }

    /// Whether another process may be asked for a connection now: a client that tries again and again must not fill its inbox.
    pub(super) fn may_send(&self, connection: &str) -> bool {
        let mut asked = self.0.asked.lock();
        asked.retain(|_, at| at.elapsed() < ASK_INTERVAL);
        if asked.contains_key(connection) {
            return false;
        }
        asked.insert(connection.to_owned(), Instant::now());
        true
    }
}

impl Wish {
    /// Completes when another process wants the connection.
    pub(super) async fn made(&self) {
        self.made.notified().await;
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        let mut held = self.wishes.0.held.lock();
        // The connection may have been opened again.
        if held.get(&self.connection).is_some_and(|made| Arc::ptr_eq(made, &self.made)) {
            held.remove(&self.connection);
        }
    }
}
