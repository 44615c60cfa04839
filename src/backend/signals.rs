//! What a backend says unasked: its lists changed.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

use crate::model::ItemKind;

/// Changes that came in since somebody last looked. Many notifications in a row become one look.
#[derive(Debug, Default)]
pub(super) struct Signals {
    changed: AtomicU8,
    wake: Notify,
}

impl Signals {
    /// Takes a notification; `false` if it is none of ours.
    pub(super) fn take(&self, method: &str) -> bool {
        let bits = match method {
            "notifications/tools/list_changed" => bit(ItemKind::Tool),
            "notifications/resources/list_changed" => bit(ItemKind::Resource) | bit(ItemKind::ResourceTemplate),
            "notifications/prompts/list_changed" => bit(ItemKind::Prompt),
            _ => return false,
        };
        self.mark(bits);
        true
    }

    pub(super) fn mark_all(&self) {
        self.mark(ItemKind::ALL.into_iter().map(bit).sum());
    }

    fn mark(&self, bits: u8) {
        self.changed.fetch_or(bits, Ordering::AcqRel);
        self.wake.notify_one();
    }

    /// Waits until something changed and takes it.
    pub(super) async fn changed(&self) -> Vec<ItemKind> {
        loop {
            let bits = self.changed.swap(0, Ordering::AcqRel);
            if bits != 0 {
                return ItemKind::ALL.into_iter().filter(|kind| bits & bit(*kind) != 0).collect();
            }
            self.wake.notified().await;
        }
    }
}

fn bit(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Tool => 1,
        ItemKind::Resource => 2,
        ItemKind::ResourceTemplate => 4,
        ItemKind::Prompt => 8,
    }
}
