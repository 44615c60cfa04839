//! Sends the lines of a recording.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::mpsc;

use super::queue::{QueuedCall, RecordQueue};
use proxy_author::backtest::{CallLine, CatalogLine, RecordingLine, StartLine};
use proxy_engine::gateway::Gateway;
use proxy_model::CallReader;
use proxy_wire::outbound::OutboundMessage;
use proxy_wire::sse;

/// What the servers offer now, and the digest of the script.
pub(in crate::admin) fn catalog_now(gateway: &Gateway) -> CatalogLine {
    let shared = gateway.watch().borrow().surface.clone();
    let script = shared.as_ref().map(|surface| Arc::clone(surface.policy()));
    CatalogLine::of(&gateway.snapshot(), script.as_deref(), SystemTime::now())
}

/// Sends the catalog and then every call, until the reader disconnects or the proxy stops. A slow reader does not block the
/// proxy; it misses calls.
pub(in crate::admin) async fn send_recording(gateway: &Gateway, frames: mpsc::Sender<OutboundMessage>) {
    let queue = Arc::new(RecordQueue::default());
    // From here on, no call is missed.
    let _reading = gateway.calls().dispatcher.telemetry().add_reader(Arc::clone(&queue) as Arc<dyn CallReader>);
    let (mut catalogs, mut surfaces) = (gateway.catalog(), gateway.watch());
    catalogs.mark_unchanged();
    surfaces.mark_unchanged();
    let mut catalog = catalog_now(gateway);
    let start = StartLine::new(catalog.clone());
    let mut next = send(move || Some(RecordingLine::Start(start)), &frames).await;
    while next {
        next = tokio::select! {
            queued = queue.next() => send(|| of_call(queued), &frames).await,
            Ok(()) = catalogs.changed() => send_change(&mut catalog, gateway, &frames).await,
            Ok(()) = surfaces.changed() => send_change(&mut catalog, gateway, &frames).await,
            () = frames.closed() => return,
            () = gateway.stopping() => break,
        };
    }
    while next && let Some(queued) = queue.take() {
        next = send(|| of_call(queued), &frames).await;
    }
}

/// `None` if the call cannot be replayed.
fn of_call(queued: QueuedCall) -> Option<RecordingLine> {
    match queued {
        QueuedCall::Call(record) => CallLine::of(&record).map(|line| RecordingLine::Call(Box::new(line))),
        QueuedCall::Dropped(number) => Some(RecordingLine::Dropped(number)),
    }
}

/// Sends the catalog if it or the script has changed. Returns false if the reader has disconnected.
async fn send_change(catalog: &mut CatalogLine, gateway: &Gateway, frames: &mpsc::Sender<OutboundMessage>) -> bool {
    let now = catalog_now(gateway);
    if now.servers == catalog.servers && now.script == catalog.script {
        return true;
    }
    catalog.clone_from(&now);
    send(move || Some(RecordingLine::Catalog(now)), frames).await
}

/// Serializes a line and sends it. A catalog or a result can be megabytes of JSON and this thread serves other clients, so
/// serialization runs on another thread. Returns false if the reader has disconnected.
async fn send(
    line: impl FnOnce() -> Option<RecordingLine> + Send + 'static,
    frames: &mpsc::Sender<OutboundMessage>,
) -> bool {
    let event =
        || line().and_then(|line| serde_json::to_string(&line).ok()).map(|text| sse::event(None, text.as_bytes()));
    match tokio::task::spawn_blocking(event).await {
        Ok(Some(event)) => frames.send(OutboundMessage::uncounted(event)).await.is_ok(),
        Ok(None) | Err(_) => true,
    }
}
