//! The state of an item: a function of what is approved and what is listed.

use std::sync::Arc;

use super::compare::compare;
use super::file::LockedItem;
use super::names::item_noun;
use super::profiles::chosen;
use super::rules::{LockMode, LockRules};
use crate::{ClientProfile, Definition, ItemKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// Listed as approved.
    Same,
    /// Listed with another text than the approved one, which stays published unless the lock only warns.
    Changed,
    /// Changed in a way that makes the approved text wrong: calls are refused.
    Held,
    /// Not approved.
    New,
    /// Reviewed and not wanted.
    Blocked,
    /// Its server is not in the lock.
    Unlocked,
}

impl ItemState {
    pub fn as_str(self) -> &'static str {
        match self {
            ItemState::Same => "same",
            ItemState::Changed => "changed",
            ItemState::Held => "held",
            ItemState::New => "new",
            ItemState::Blocked => "blocked",
            ItemState::Unlocked => "unlocked",
        }
    }
}

/// What the lock says of a listed item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemLock {
    pub state: ItemState,
    /// The members that differ from what is approved.
    pub changed: Vec<String>,
    /// Why clients must not rely on the approved text; empty if they may.
    pub broken: Vec<String>,
    /// What is approved for the client; `None` if nothing is.
    pub approved: Option<Arc<Definition>>,
    /// What the server lists.
    pub live: Arc<Definition>,
}

impl ItemLock {
    /// Compares what a server lists with what is approved of it.
    pub(super) fn of(
        kind: ItemKind,
        locked: Option<&LockedItem>,
        live: &Arc<Definition>,
        profile: ClientProfile,
        rules: &LockRules,
    ) -> Self {
        let mut lock = ItemLock {
            state: ItemState::New,
            changed: Vec::new(),
            broken: Vec::new(),
            approved: None,
            live: Arc::clone(live),
        };
        let Some(locked) = locked else { return lock };
        let value = live.value();
        let digest = proxy_json::digest(&value);
        let same = locked.definitions.iter().find(|approved| approved.digest == digest);
        let approved = same.or_else(|| chosen(&locked.definitions, |approved| &approved.profiles, profile));
        let Some(approved) = approved else { return lock };
        lock.approved = Some(Arc::clone(&approved.definition));
        if same.is_none() {
            let comparison = compare(kind, &approved.definition.value(), &value, &rules.ignore);
            lock.changed = comparison.changed;
            lock.broken = comparison.broken;
        }
        let is_held = rules.mode == LockMode::Block || !lock.broken.is_empty();
        lock.state = match () {
            () if locked.block => ItemState::Blocked,
            () if lock.changed.is_empty() => ItemState::Same,
            () if is_held && rules.mode != LockMode::Warn => ItemState::Held,
            () => ItemState::Changed,
        };
        lock
    }

    /// What is published of the item; `None` if it is left out.
    pub(super) fn published(&self, mode: LockMode) -> Option<Arc<Definition>> {
        match (self.state, mode) {
            (ItemState::Blocked, _) => None,
            (_, LockMode::Warn) => Some(Arc::clone(&self.live)),
            (ItemState::New | ItemState::Unlocked, _) => None,
            // Equal meanings may have unequal texts, of which a client reads another one than the proxy.
            _ => self.approved.as_ref().map(|approved| {
                let published = if **approved == *self.live { &self.live } else { approved };
                Arc::clone(published)
            }),
        }
    }

    /// Whether the item is not as approved.
    pub fn is_drift(&self) -> bool {
        !matches!(self.state, ItemState::Same | ItemState::Blocked)
    }

    /// Why the item cannot be used; `None` if it can.
    pub fn refusal(&self, kind: ItemKind, server: &str, mode: LockMode) -> Option<String> {
        let item = item_noun(kind, self.live.key());
        let review =
            format!("an operator can review it with `proxy lock {}`", review_argument(server, self.live.key()));
        match self.state {
            ItemState::Held => Some(format!(
                "the {item} of server `{server}` is held, because it differs from what was approved: {}; {review}",
                self.difference()
            )),
            ItemState::Blocked => Some(format!("the {item} of server `{server}` is blocked by the lock")),
            ItemState::New | ItemState::Unlocked if mode != LockMode::Warn => {
                Some(format!("the {item} of server `{server}` is not approved; {review}"))
            }
            _ => None,
        }
    }

    /// What differs, in a few words.
    pub fn difference(&self) -> String {
        if self.broken.is_empty() {
            let members: Vec<String> = self.changed.iter().map(|member| format!("`{member}`")).collect();
            return format!("{} changed", members.join(", "));
        }
        self.broken.join("; ")
    }
}

/// The argument of `proxy lock` for an item.
fn review_argument(server: &str, key: &str) -> String {
    let argument = format!("{server}/{key}");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:".contains(letter);
    if argument.chars().all(is_plain) { argument } else { server.to_owned() }
}
