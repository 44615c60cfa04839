//! The events of a running proxy, for clients of `GET /events`.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::recorded_calls::{CallSummary, Followed, Following};
use proxy_engine::gateway::{Gateway, SharedSurface};
use proxy_model::{ItemKind, Snapshot, Status};
use proxy_wire::outbound::OutboundMessage;
use proxy_wire::sse;

/// An event of `GET /events`. Events report changes; for complete state, read `GET /status`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LiveEvent {
    /// A request has finished.
    Call(Box<CallSummary>),
    /// The status of a server has changed.
    Server {
        name: String,
        /// `removed` if it is no longer configured.
        status: String,
        error: String,
    },
    /// The script has run after a change to the config, the script or the extensions.
    Reload {
        tools: usize,
        /// Why the old version stays in use.
        error: Option<String>,
    },
    /// This many calls were dropped because this reader was too slow.
    Dropped(u64),
}

/// Sends events until the reader disconnects or the proxy stops. A slow reader does not block the proxy; it misses calls.
pub(super) async fn send_events(gateway: &Gateway, mut following: Following, frames: mpsc::Sender<OutboundMessage>) {
    let (mut catalog, mut surface) = (gateway.catalog(), gateway.watch());
    let mut servers = statuses(&catalog.borrow_and_update());
    let mut version = Version::of(&surface.borrow_and_update());
    loop {
        let events = tokio::select! {
            followed = following.next() => vec![match followed {
                Followed::Call(call) => LiveEvent::Call(Box::new(call.summary.clone())),
                Followed::Dropped(number) => LiveEvent::Dropped(number),
            }],
            Ok(()) = catalog.changed() => {
                let now = statuses(&catalog.borrow_and_update());
                let events = changed(&servers, &now);
                servers = now;
                events
            }
            Ok(()) = surface.changed() => {
                let (now, before) = (surface.borrow_and_update().clone(), version);
                version = Version::of(&now);
                if version == before { Vec::new() } else { vec![reload(&now)] }
            }
            () = frames.closed() => return,
            () = gateway.stopping() => return,
        };
        for event in events {
            let text = serde_json::to_string(&event).unwrap_or_default();
            if frames.send(OutboundMessage::uncounted(sse::event(None, text.as_bytes()))).await.is_err() {
                return;
            }
        }
    }
}

/// Identifies a reload.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    edition: u64,
    generation: u64,
    is_failed: bool,
}

impl Version {
    fn of(surface: &SharedSurface) -> Self {
        Version { edition: surface.edition, generation: surface.generation, is_failed: surface.error.is_some() }
    }
}

fn reload(now: &SharedSurface) -> LiveEvent {
    LiveEvent::Reload {
        tools: now.surface.as_ref().map_or(0, |surface| surface.listed(ItemKind::Tool)),
        error: now.error.as_ref().map(ToString::to_string),
    }
}

type Statuses = HashMap<Arc<str>, (Status, String)>;

fn statuses(snapshot: &Snapshot) -> Statuses {
    let one = |view: &Arc<proxy_model::BackendView>| (Arc::clone(&view.name), (view.status, view.error.clone()));
    snapshot.backends.iter().map(one).collect()
}

fn changed(before: &Statuses, now: &Statuses) -> Vec<LiveEvent> {
    let event = |name: &Arc<str>, status: &str, error: &str| LiveEvent::Server {
        name: name.to_string(),
        status: status.to_owned(),
        error: error.to_owned(),
    };
    let differing = now.iter().filter(|(name, state)| before.get(*name) != Some(state));
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    let changed = differing.map(|(name, (status, error))| event(name, status.as_str(), error));
    changed.chain(gone.map(|name| event(name, "removed", ""))).collect()
}
