//! What the lock makes of a server's lists.

use std::collections::HashMap;
use std::sync::Arc;

use super::arguments::check_arguments;
use super::file::LockedServer;
use super::item_lock::{ItemLock, ItemState};
use super::names::item_noun;
use super::profiles::chosen;
use super::rules::{LockMode, LockRules};
use crate::{ClientProfile, Definition, ItemKind, Lists, PerKind, ServerInfo, UriTemplate};
use proxy_json::{Object, RawRef};

/// The states of the items that a server lists.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewLock {
    pub mode: LockMode,
    server: Arc<str>,
    /// Whether the lock knows the server, under the identity that it has.
    pub is_known: bool,
    /// What the server says about itself, where it differs from what is approved.
    pub info: Vec<InfoChange>,
    items: PerKind<HashMap<String, ItemLock>>,
    /// The approved items that the server does not list.
    gone: Vec<(ItemKind, String)>,
}

/// A member of a server's description that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoChange {
    Instructions,
    Capabilities,
    /// The title, icons or other members of `serverInfo`, other than its name and version.
    ServerInfo,
}

impl InfoChange {
    pub fn as_str(self) -> &'static str {
        match self {
            InfoChange::Instructions => "instructions",
            InfoChange::Capabilities => "capabilities",
            InfoChange::ServerInfo => "serverInfo",
        }
    }
}

fn is_locked(kind: ItemKind, rules: &LockRules) -> bool {
    kind != ItemKind::Resource || rules.resources
}

impl ViewLock {
    /// Compares what a server lists with what is approved of it.
    pub fn of(
        name: &Arc<str>,
        server: Option<&LockedServer>,
        rules: &LockRules,
        (info, lists): (&ServerInfo, &Lists),
        profile: ClientProfile,
    ) -> Self {
        let items = PerKind::make(|kind| {
            let listed = if is_locked(kind, rules) { &lists.of(kind)[..] } else { &[] };
            let states = listed.iter().map(|live| {
                let locked = server.and_then(|server| server.items.of(kind).get(live.key()));
                let mut lock = ItemLock::of(kind, locked, live, profile, rules);
                if server.is_none() {
                    lock.state = ItemState::Unlocked;
                }
                (live.key().to_owned(), lock)
            });
            states.collect::<HashMap<_, _>>()
        });
        let gone = |kind: ItemKind| {
            let approved = server.into_iter().flat_map(move |server| server.items.of(kind));
            let items = items.of(kind);
            approved
                .filter(move |(key, item)| is_locked(kind, rules) && !item.absent && !items.contains_key(*key))
                .map(move |(key, _)| (kind, key.clone()))
                .collect::<Vec<_>>()
        };
        let gone = ItemKind::ALL.into_iter().flat_map(gone).collect();
        let info = server.map_or_else(Vec::new, |server| info_changes(server, info, profile, rules));
        ViewLock { mode: rules.mode, server: Arc::clone(name), is_known: server.is_some(), info, items, gone }
    }

    pub fn item(&self, kind: ItemKind, key: &str) -> Option<&ItemLock> {
        self.items.of(kind).get(key)
    }

    /// All items that the server lists, by name.
    pub fn items(&self, kind: ItemKind) -> Vec<(&str, &ItemLock)> {
        let mut items: Vec<_> = self.items.of(kind).iter().map(|(key, lock)| (key.as_str(), lock)).collect();
        items.sort_unstable_by_key(|(key, _)| *key);
        items
    }

    /// The approved items that the server does not list.
    pub fn gone(&self) -> &[(ItemKind, String)] {
        &self.gone
    }

    /// What is published of a listed item; `None` if it is left out.
    pub(crate) fn published(&self, kind: ItemKind, live: &Arc<Definition>) -> Option<Arc<Definition>> {
        match self.item(kind, live.key()) {
            Some(lock) => lock.published(self.mode),
            None => Some(Arc::clone(live)),
        }
    }

    /// Whether everything is published as it is listed.
    pub(crate) fn publishes_all(&self) -> bool {
        let blocks = || self.items.iter().flat_map(HashMap::values).any(|lock| lock.state == ItemState::Blocked);
        self.mode == LockMode::Warn && !blocks()
    }

    /// Why a request cannot be sent to the server; `None` if it can.
    pub fn refusal(&self, method: &str, params: &RawRef) -> Option<String> {
        let kind = ItemKind::used_by(method)?;
        let params = Object::of(params).ok()?;
        let key = params.string(kind.use_member())?;
        if let Some(lock) = self.item(kind, &key) {
            let refusal = lock.refusal(kind, &self.server, self.mode);
            let is_checked = kind == ItemKind::Tool && lock.state == ItemState::Changed && self.mode != LockMode::Warn;
            return refusal.or_else(|| {
                if !is_checked {
                    return None;
                }
                check_arguments(lock.approved.as_ref()?, params.get("arguments")).err()
            });
        }
        match kind {
            ItemKind::Resource | ItemKind::ResourceTemplate => self.template_refusal(&key),
            ItemKind::Tool | ItemKind::Prompt if self.mode != LockMode::Warn => {
                let item = item_noun(kind, &key);
                Some(format!(
                    "server `{}` does not list the {item}, so it cannot be compared with the lock",
                    self.server
                ))
            }
            ItemKind::Tool | ItemKind::Prompt => None,
        }
    }

    /// Why an item cannot be used, whatever the arguments; `None` if it can.
    pub fn item_refusal(&self, kind: ItemKind, key: &str) -> Option<String> {
        self.item(kind, key)?.refusal(kind, &self.server, self.mode)
    }

    /// A URI belongs to the templates that match it. It can be read if one of them may be used.
    fn template_refusal(&self, uri: &str) -> Option<String> {
        let matches =
            |template: &str| UriTemplate::parse(template).is_some_and(|template| template.variables(uri).is_some());
        let fitting = self.items.of(ItemKind::ResourceTemplate).iter().filter(|(template, _)| matches(template));
        let refusals: Vec<_> =
            fitting.map(|(_, lock)| lock.refusal(ItemKind::ResourceTemplate, &self.server, self.mode)).collect();
        if refusals.iter().any(Option::is_none) { None } else { refusals.into_iter().flatten().next() }
    }

    /// What is not as approved, one line for each; empty if everything is.
    pub fn drift(&self) -> Vec<String> {
        if !self.is_known {
            return vec![format!("nothing of it is approved; run `proxy lock {}`", self.server)];
        }
        let mut lines: Vec<String> =
            self.info.iter().map(|change| format!("its `{}` changed", change.as_str())).collect();
        for kind in ItemKind::ALL {
            for (key, lock) in self.items(kind).into_iter().filter(|(_, lock)| lock.is_drift()) {
                let item = item_noun(kind, key);
                lines.push(match lock.state {
                    ItemState::New => format!("{item} is new"),
                    ItemState::Held => format!("{item} is held: {}", lock.difference()),
                    _ => format!("{item} differs: {}", lock.difference()),
                });
            }
        }
        lines
    }
}

fn info_changes(
    server: &LockedServer,
    live: &ServerInfo,
    profile: ClientProfile,
    rules: &LockRules,
) -> Vec<InfoChange> {
    let blank = |text: &str| rules.ignore.without(text);
    // As with items: what clients of any profile saw is approved.
    let is_instructed = server.infos.iter().any(|seen| blank(&seen.info.instructions) == blank(&live.instructions));
    let Some(approved) = chosen(&server.infos, |seen| &seen.profiles, profile) else {
        return vec![InfoChange::Instructions];
    };
    let described = |info: &ServerInfo| {
        let mut described = info.implementation.clone();
        if let Some(members) = described.as_object_mut() {
            members.remove("version");
            members.remove("name");
        }
        described
    };
    let is_described = server.infos.iter().any(|seen| described(&seen.info) == described(live));
    let is_capable = server.infos.iter().any(|seen| seen.info.capabilities == live.capabilities)
        || approved.info.capabilities == live.capabilities;
    let changes = [
        (InfoChange::Instructions, is_instructed),
        (InfoChange::Capabilities, is_capable),
        (InfoChange::ServerInfo, is_described),
    ];
    changes.into_iter().filter(|(_, is_same)| !is_same).map(|(change, _)| change).collect()
}
