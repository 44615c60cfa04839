//! Sends the lines of a recording.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::mpsc;

use super::queue::{QueuedCall, RecordQueue};
use crate::author::backtest::{CatalogLine, RecordingLine, StartLine};
use crate::gateway::Gateway;
use crate::model::CallReader;
use crate::wire::outbound::OutboundMessage;
use crate::wire::sse;

/// What the servers offer now, and the digest of the script.
pub(in crate::admin) fn catalog_now(gateway: &Gateway) -> CatalogLine {
    let shared = gateway.watch().borrow().surface.clone();
    let script = shared.as_ref().map(|surface| Arc::clone(surface.policy()));
    CatalogLine::of(&gateway.snapshot(), script.as_deref(), SystemTime::now())
}

/// Sends the catalog and then every call, until the reader is gone or the proxy stops. A reader that is slow holds up nobody:
/// it misses calls.
pub(in crate::admin) async fn send_recording(gateway: &Gateway, frames: mpsc::Sender<OutboundMessage>) {
    let queue = Arc::new(RecordQueue::default());
    // From here on, no call is missed.
    let _reading = gateway.calls().dispatcher.telemetry().add_reader(Arc::clone(&queue) as Arc<dyn CallReader>);
    let (mut catalogs, mut surfaces) = (gateway.catalog(), gateway.watch());
    catalogs.mark_unchanged();
    surfaces.mark_unchanged();
    let mut catalog = catalog_now(gateway);
    let mut line = Some(RecordingLine::Start(StartLine::new(catalog.clone())));
    loop {
        if let Some(line) = line.take()
            && !send(&line, &frames).await
        {
            return;
        }
        line = tokio::select! {
            queued = queue.next() => Some(of_call(queued)),
            Ok(()) = catalogs.changed() => changed(&mut catalog, gateway),
            Ok(()) = surfaces.changed() => changed(&mut catalog, gateway),
            () = frames.closed() => return,
            () = gateway.stopping() => break,
        };
    }
    while let Some(queued) = queue.take() {
        if !send(&of_call(queued), &frames).await {
            return;
        }
    }
}

fn of_call(queued: QueuedCall) -> RecordingLine {
    match queued {
        QueuedCall::Call(call) => RecordingLine::Call(call),
        QueuedCall::Dropped(number) => RecordingLine::Dropped(number),
    }
}

/// A line if the catalog or the script is another one now.
fn changed(catalog: &mut CatalogLine, gateway: &Gateway) -> Option<RecordingLine> {
    let now = catalog_now(gateway);
    if now.servers == catalog.servers && now.script == catalog.script {
        return None;
    }
    catalog.clone_from(&now);
    Some(RecordingLine::Catalog(now))
}

/// Returns false if nobody reads any more.
async fn send(line: &RecordingLine, frames: &mpsc::Sender<OutboundMessage>) -> bool {
    let text = serde_json::to_string(line).unwrap_or_default();
    frames.send(OutboundMessage::uncounted(sse::event(None, text.as_bytes()))).await.is_ok()
}
