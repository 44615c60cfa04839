//! The view of a server as the lock lets it be seen.

use std::sync::Arc;

use super::lock::{Lock, LockMode, LockRules, LockedServer, ViewLock, chosen};
use super::{BackendView, ClientProfile, Lists, PerKind, ServerInfo, ViewVariant};

impl Lock {
    /// The view that is published of a server: `raw`, which clients of this profile see, with its variants.
    pub fn published(&self, raw: &BackendView, profile: ClientProfile) -> BackendView {
        let Some(rules) = self.rules.get(&*raw.name) else { return raw.clone() };
        let main = ClientProfile { era: raw.info.era(), ..profile };
        let (info, lists, lock) = self.applied(&raw.name, rules, (&raw.info, &raw.lists), main);
        let variants = raw.variants.iter().map(|variant| {
            let seen = (&variant.info, &variant.lists);
            let (info, lists, lock) = self.applied(&raw.name, rules, seen, variant.profile);
            ViewVariant { profile: variant.profile, info, lists, lock: Some(lock) }
        });
        BackendView { info, lists, variants: Arc::new(variants.collect()), lock: Some(lock), ..raw.clone() }
    }

    fn applied(
        &self,
        name: &Arc<str>,
        rules: &LockRules,
        (info, lists): (&Arc<ServerInfo>, &Arc<Lists>),
        profile: ClientProfile,
    ) -> (Arc<ServerInfo>, Arc<Lists>, Arc<ViewLock>) {
        let server = self.file.servers.get(&**name).filter(|server| server.identity == rules.identity);
        let lock = ViewLock::of(name, server, rules, (info, lists), profile);
        if lock.publishes_all() {
            return (Arc::clone(info), Arc::clone(lists), Arc::new(lock));
        }
        let published =
            PerKind::make(|kind| lists.of(kind).iter().filter_map(|live| lock.published(kind, live)).collect());
        let info = match server {
            Some(server) if rules.mode != LockMode::Warn => approved_info(server, info, profile),
            None if rules.mode != LockMode::Warn => without_texts(info),
            _ => Arc::clone(info),
        };
        (info, Arc::new(published), Arc::new(lock))
    }
}

/// The approved texts. Name, version and capabilities are the server's own: operators see them, and requests depend on
/// them.
fn approved_info(server: &LockedServer, live: &Arc<ServerInfo>, profile: ClientProfile) -> Arc<ServerInfo> {
    let Some(approved) = chosen(&server.infos, |seen| &seen.profiles, profile) else { return without_texts(live) };
    let approved = &approved.info;
    let is_same = approved.instructions == live.instructions
        && approved.title == live.title
        && approved.implementation == live.implementation;
    if is_same {
        return Arc::clone(live);
    }
    Arc::new(ServerInfo {
        instructions: approved.instructions.clone(),
        title: approved.title.clone(),
        implementation: approved.implementation.clone(),
        ..ServerInfo::clone(live)
    })
}

/// A server that nobody has approved says nothing.
fn without_texts(live: &Arc<ServerInfo>) -> Arc<ServerInfo> {
    Arc::new(ServerInfo {
        instructions: String::new(),
        title: String::new(),
        implementation: serde_json::Value::Null,
        ..ServerInfo::clone(live)
    })
}
