//! One line about what a change did.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::super::local::LocalTools;
use super::super::{Current, Gateway};
use crate::model::ItemKind;

/// Longer than a surface takes that waits for new servers.
const PATIENCE: Duration = Duration::from_secs(30);

/// Says what is wrong with local tools that was not wrong before.
pub(super) fn new_problems(before: &LocalTools, now: &LocalTools) {
    for problem in now.new_problems(before) {
        tracing::error!("an extension was not loaded:\n{problem}");
    }
}

/// How many tools there are now.
pub(super) fn tools(gateway: &Gateway) -> usize {
    gateway.current.borrow().surface.as_ref().map_or(0, |surface| surface.listed(ItemKind::Tool))
}

/// Says it as soon as there is a surface of it. A failure is told by whoever makes surfaces; a change that another one
/// has overtaken is not told.
pub(super) fn later(
    gateway: &Arc<Gateway>,
    what: String,
    more: String,
    before: usize,
    reached: impl Fn(&Current) -> bool + Send + Sync + 'static,
) {
    let gateway = Arc::clone(gateway);
    tokio::spawn(async move {
        let mut current = gateway.current.clone();
        let done = tokio::time::timeout(PATIENCE, current.wait_for(|now| reached(now))).await;
        if !matches!(done, Ok(Ok(now)) if now.error.is_none()) {
            return;
        }
        tracing::info!("reloaded {what}: {}{more}", compared(before, tools(&gateway)));
        gateway.news.lock().reloaded = Some((SystemTime::now(), what));
    });
}

fn compared(before: usize, now: usize) -> String {
    let noun = if now == 1 { "tool" } else { "tools" };
    match now.cmp(&before) {
        std::cmp::Ordering::Greater => format!("{now} {noun}, {} more than before", now - before),
        std::cmp::Ordering::Less => format!("{now} {noun}, {} fewer than before", before - now),
        std::cmp::Ordering::Equal => format!("{now} {noun}, as many as before"),
    }
}
