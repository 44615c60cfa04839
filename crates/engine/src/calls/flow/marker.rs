//! Stores the marks of an item before what its server says is passed on.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::guard::FlowGuard;
use proxy_json::Raw;
use proxy_mcp_client::{CallError, Peer};
use proxy_model::flow::Labels;

/// The maximum number of messages that wait for the marks to be stored.
const MAX_WAITING: usize = 256;

/// A message of a server that is not waited for.
pub(super) enum ServerMessage {
    Progress(Raw),
    Log(Raw),
    Other(String, Option<Raw>),
}

impl ServerMessage {
    fn pass_on(self, peer: &dyn Peer) {
        match self {
            ServerMessage::Progress(params) => peer.progress(&params),
            ServerMessage::Log(params) => peer.log(&params),
            ServerMessage::Other(method, params) => peer.notify(&method, params.as_deref()),
        }
    }
}

/// Shared by everything that passes on what the server of one call says.
pub(super) struct Marker {
    pub(super) guard: FlowGuard,
    /// The labels of the item that the conversation did not have when the call was sent: what the server says during the call
    /// does not stop the answers to its own questions.
    pub(super) told: Labels,
    /// Whether the person has agreed to this call.
    pub(super) is_covered: bool,
    runtime: Handle,
    state: Mutex<MarkState>,
}

enum MarkState {
    Unmarked,
    /// The marks are being stored; these messages wait.
    Storing(Vec<(Arc<dyn Peer>, ServerMessage)>),
    /// The marks are stored, until this time at least. None if the item has no labels.
    Marked(Option<Instant>),
    /// The marks could not be stored: nothing is passed on.
    Failed,
}

impl Marker {
    pub(super) fn new(guard: FlowGuard, told: Labels, is_covered: bool, runtime: Handle) -> Arc<Self> {
        // An item without labels sets no marks.
        let state = if guard.labels.is_empty() { MarkState::Marked(None) } else { MarkState::Unmarked };
        Arc::new(Marker { guard, told, is_covered, runtime, state: Mutex::new(state) })
    }

    /// Stores the marks, and then passes on the messages that waited for that.
    ///
    /// # Errors
    /// If the marks cannot be stored. Nothing may be passed on then.
    pub(super) async fn mark(&self) -> Result<(), CallError> {
        if self.guard.labels.is_empty() {
            return Ok(());
        }
        let stored = self.guard.mark().await;
        let mut state = self.state.lock();
        // A call may take longer than marks are remembered.
        let until = Instant::now() + self.guard.caller.flow.remember / 2;
        let next = if stored.is_ok() { MarkState::Marked(Some(until)) } else { MarkState::Failed };
        if let (MarkState::Storing(waiting), Ok(())) = (std::mem::replace(&mut *state, next), &stored) {
            // Under the lock, so that later messages do not overtake these. Passing on never blocks.
            waiting.into_iter().for_each(|(peer, message)| message.pass_on(peer.as_ref()));
        }
        drop(state);
        stored
    }

    /// Passes a message on, once the marks are stored.
    pub(super) fn pass_on(self: &Arc<Self>, peer: &Arc<dyn Peer>, message: ServerMessage) {
        let mut state = self.state.lock();
        match &mut *state {
            MarkState::Marked(until) if until.is_none_or(|until| Instant::now() < until) => {
                message.pass_on(peer.as_ref());
            }
            MarkState::Failed => {}
            MarkState::Storing(waiting) => {
                if waiting.len() < MAX_WAITING {
                    waiting.push((Arc::clone(peer), message));
                }
            }
            MarkState::Unmarked | MarkState::Marked(_) => {
                *state = MarkState::Storing(vec![(Arc::clone(peer), message)]);
                let marker = Arc::clone(self);
                self.runtime.spawn(async move { drop(marker.mark().await) });
            }
        }
    }
}

impl std::fmt::Debug for Marker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Marker({})", self.guard.labels)
    }
}
