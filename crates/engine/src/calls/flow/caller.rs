//! Whose marks count for a call, and where they are stored.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use super::decisions::Decisions;
use crate::surface::Surface;
use proxy_config::{Flow, FlowOwner};
use proxy_mcp_client::Peer;
use proxy_model::flow::{FlowDecision, Labels, Mark, Marks, Reading};
use proxy_model::{Owner, Principal};
use proxy_store::Store;
use proxy_telemetry::CallRecording;

/// The labels of what a call tells a conversation that had not read anything like it. They do not stop the answers to the
/// questions of the same call.
#[derive(Clone, Debug, Default)]
pub struct ToldLabels(Option<Arc<OnceLock<Labels>>>);

impl ToldLabels {
    /// Nothing is remembered without flow rules.
    pub fn of(surface: &Surface) -> Self {
        ToldLabels(surface.flow().map(|_| Arc::default()))
    }

    pub(super) fn set(&self, labels: &Labels) {
        // A call of a published item is sent once.
        let _ = self.0.as_ref().map(|told| told.set(labels.clone()));
    }

    pub fn get(&self) -> Labels {
        self.0.as_ref().and_then(|told| told.get()).cloned().unwrap_or_default()
    }
}

/// The caller of a request, for flow rules.
#[derive(Clone)]
pub(in crate::calls) struct FlowCaller {
    pub(super) flow: Arc<Flow>,
    pub(super) surface: Arc<Surface>,
    store: Store,
    /// `None` for an anonymous request without a session: nobody knows what it belongs to.
    owner: Option<Owner>,
    decisions: Decisions,
    pub(super) told: ToldLabels,
}

impl FlowCaller {
    /// `connection` is the owner of the request. `None` if no labels are tracked.
    pub(in crate::calls) fn of(
        surface: Option<&Arc<Surface>>,
        principal: &Principal,
        connection: Option<&Owner>,
        store: &Store,
        recording: Option<&Arc<CallRecording>>,
    ) -> Option<Self> {
        let surface = surface?;
        let flow = Arc::clone(surface.flow()?);
        let owner = match connection {
            Some(session @ Owner::Session(_)) if flow.per == FlowOwner::Session => session.clone(),
            connection => Owner::of_values(principal, connection),
        };
        let owner = Some(owner).filter(is_followed);
        Some(FlowCaller {
            flow,
            surface: Arc::clone(surface),
            store: store.clone(),
            owner,
            decisions: Decisions::of_call(recording),
            told: ToldLabels::default(),
        })
    }

    /// The same for a request that remembers what its call tells.
    pub(in crate::calls) fn telling(self, told: &ToldLabels) -> Self {
        FlowCaller { told: told.clone(), ..self }
    }

    /// The client that a server asks while no call runs.
    pub(super) fn between_calls(
        surface: &Arc<Surface>,
        peer: &dyn Peer,
        store: &Store,
        decisions: Decisions,
    ) -> Option<Self> {
        let flow = Arc::clone(surface.flow()?);
        let owner = match (peer.owner(), peer.person()) {
            (session @ Owner::Session(_), _) if flow.per == FlowOwner::Session => session.clone(),
            (_, person @ (Owner::Person(_) | Owner::Process)) => person,
            (connection, _) => connection.clone(),
        };
        let owner = Some(owner).filter(is_followed);
        let surface = Arc::clone(surface);
        Some(FlowCaller { flow, surface, store: store.clone(), owner, decisions, told: ToldLabels::default() })
    }

    pub(in crate::calls) fn flow(&self) -> &Flow {
        &self.flow
    }

    /// What the conversation has read.
    ///
    /// # Errors
    /// Why the store does not tell.
    pub(in crate::calls) async fn reading(&self) -> Result<Reading, String> {
        let Some(owner) = &self.owner else { return Ok(Reading::Unknown(self.flow.decisive_labels())) };
        let stored = self.store.marks(owner).await.map_err(|error| error.to_string())?;
        let mark =
            |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Mark { source: text.to_owned(), at: 0, nth: 0 });
        Ok(Reading::Marked(Marks(stored.iter().map(|(label, text)| (label.as_str().into(), mark(text))).collect())))
    }

    /// Stores that the conversation has read something with these labels.
    ///
    /// # Errors
    /// Why it could not be stored.
    pub(in crate::calls) async fn mark(&self, labels: &Labels, source: &str) -> Result<(), String> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if labels.is_empty() {
            return Ok(());
        }
        let Some(owner) = &self.owner else { return Ok(()) };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let at = u64::try_from(at).unwrap_or(u64::MAX);
        let mark = Mark { source: source.to_owned(), at, nth: NEXT.fetch_add(1, Ordering::Relaxed) };
        let text = serde_json::to_string(&mark).unwrap_or_default();
        let marks: Vec<(Arc<str>, String)> = labels.iter().map(|label| (Arc::clone(label), text.clone())).collect();
        self.store.add_marks(owner, &marks, self.flow.remember).await.map_err(|error| error.to_string())
    }

    /// Records a rule that applied.
    pub(super) fn note(&self, decision: FlowDecision) {
        self.decisions.note(decision);
    }

    /// Records that the call is stopped. `is_inner` if a handler makes it, which may still answer otherwise.
    pub(super) fn note_refusal(&self, why: &str, at: Option<String>, is_inner: bool) {
        self.decisions.note_refusal(why, at, is_inner);
    }
}

/// Whether it is known what an owner's requests belong to.
fn is_followed(owner: &Owner) -> bool {
    !matches!(owner, Owner::Request(_) | Owner::Everybody)
}
