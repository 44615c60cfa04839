//! The log line about a finished reload.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::gateway::installation::LocalTools;
use crate::gateway::{Gateway, SharedSurface};
use proxy_model::ItemKind;

/// Longer than the first run of a script waits for new servers.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30);

/// Logs the errors of local tools that are new.
pub(super) fn new_problems(before: &LocalTools, now: &LocalTools) {
    for problem in now.new_problems(before) {
        tracing::error!("an extension was not loaded:\n{problem}");
    }
}

/// The number of tools on the shared surface.
pub(super) fn tools(gateway: &Gateway) -> usize {
    gateway.top().current.borrow().surface.as_ref().map_or(0, |surface| surface.listed(ItemKind::Tool))
}

/// Logs the reload as soon as the surface has been rebuilt (`reached`). A failed run is logged where it happens, and a
/// reload that another one has superseded is not logged.
pub(super) fn when_built(
    gateway: &Arc<Gateway>,
    what: String,
    more: String,
    before: usize,
    reached: impl Fn(&SharedSurface) -> bool + Send + Sync + 'static,
) {
    let gateway = Arc::clone(gateway);
    tokio::spawn(async move {
        let mut current = gateway.top().current.clone();
        let done = tokio::time::timeout(BUILD_TIMEOUT, current.wait_for(|now| reached(now))).await;
        if !matches!(done, Ok(Ok(now)) if now.error.is_none()) {
            return;
        }
        tracing::info!("reloaded {what}: {}{more}", compared(before, tools(&gateway)));
        gateway.reload_status.lock().last_reload = Some((SystemTime::now(), what));
    });
}

fn compared(before: usize, now: usize) -> String {
    let noun = if now == 1 { "tool" } else { "tools" };
    match now.cmp(&before) {
        std::cmp::Ordering::Greater => format!("{now} {noun}, {} more than before", now - before),
        std::cmp::Ordering::Less => format!("{now} {noun}, {} fewer than before", before - now),
        std::cmp::Ordering::Equal => format!("{now} {noun}, as before"),
    }
}
