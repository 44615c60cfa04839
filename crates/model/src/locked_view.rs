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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::testing::{approved, rules, seen};
    use crate::lock::{LockFile, SeenLists};
    use crate::{BackendKind, Definition, ItemKind};

    #[test]
    fn what_is_published_depends_on_the_mode() {
        let locked = approved(None, &[seen(ClientProfile::SESSION, &[("a", ""), ("b", ""), ("c", "")])]);
        let mut blocked = locked.clone();
        blocked.items.tools.get_mut("c").unwrap().block = true;
        let now = seen(
            ClientProfile::SESSION,
            &[("a", r#","title":"A""#), ("b", r#","outputSchema":{}"#), ("c", ""), ("d", "")],
        );
        let view = |mode, locked: &LockedServer| {
            let file = LockFile { servers: [("s".to_owned(), locked.clone())].into() };
            let rules = [("s".to_owned(), rules(mode))].into();
            let lock = Lock { path: "proxy.lock".into(), is_found: true, file: Arc::new(file), rules };
            let raw =
                BackendView::ready("s", BackendKind::Stdio, ServerInfo::clone(&now.info), Lists::clone(&now.lists));
            lock.published(&raw, ClientProfile::SESSION)
        };
        let published = |mode| {
            let view = view(mode, &blocked);
            let lock = view.lock.clone().unwrap();
            let tools = view.lists.tools.iter().map(|tool| {
                let params = proxy_json::valid(format!(r#"{{"name":"{}"}}"#, tool.key())).unwrap();
                let is_refused = lock.refusal("tools/call", &params).is_some();
                (tool.key().to_owned(), tool.text("title"), is_refused)
            });
            tools.collect::<Vec<_>>()
        };
        let tool = |name: &str, title: &str, is_refused| (name.to_owned(), title.to_owned(), is_refused);
        assert_eq!(published(LockMode::Freeze), [tool("a", "", false), tool("b", "", true)]);
        assert_eq!(published(LockMode::Block), [tool("a", "", true), tool("b", "", true)]);
        assert_eq!(published(LockMode::Warn), [tool("a", "A", false), tool("b", "", false), tool("d", "", false)]);
        let lock = view(LockMode::Freeze, &blocked).lock.unwrap();
        let refused = |name: &str| {
            lock.refusal("tools/call", &proxy_json::valid(format!(r#"{{"name":"{name}"}}"#)).unwrap()).unwrap()
        };
        assert!(refused("b").contains("`outputSchema` changed; an operator can review it with `proxy lock s/b`"));
        assert!(refused("c").contains("is blocked by the lock") && refused("d").contains("is not approved"));
        assert!(refused("e").contains("does not list"));
        assert!(lock.drift().contains(&"tool `d` is new".to_owned()), "{:?}", lock.drift());
    }

    #[test]
    fn resources_come_and_go_unless_they_are_locked_too() {
        let resource = |uri: &str| {
            let text = format!(r#"{{"uri":"{uri}","name":"n"}}"#);
            Arc::new(Definition::parse(ItemKind::Resource, proxy_json::valid(text).unwrap()).unwrap())
        };
        let lists = |uris: &[&str]| {
            let resources = uris.iter().map(|uri| resource(uri)).collect();
            Lists { resources, ..Lists::default() }
        };
        let of = |locks_resources: bool| {
            let rules = LockRules { resources: locks_resources, ..rules(LockMode::Freeze) };
            let before = SeenLists { lists: Arc::new(lists(&["a://1"])), ..seen(ClientProfile::SESSION, &[]) };
            let server =
                LockedServer::approving(None, std::slice::from_ref(&before), &rules, &|_, _| true, true).unwrap();
            let now = lists(&["a://1", "a://2"]);
            let lock = ViewLock::of(&"s".into(), Some(&server), &rules, (&before.info, &now), before.profile);
            let published = now.resources.iter().filter(|live| lock.published(ItemKind::Resource, live).is_some());
            let params = proxy_json::valid(r#"{"uri":"a://2"}"#.to_owned()).unwrap();
            (published.count(), lock.refusal("resources/read", &params).is_some())
        };
        assert_eq!(of(false), (2, false));
        assert_eq!(of(true), (1, true));
    }
}
