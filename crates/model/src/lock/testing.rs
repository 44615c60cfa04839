//! Lists and locks for unit tests.

use std::sync::Arc;

use super::{IgnoredText, LockMode, LockRules, LockedServer, SeenLists};
use crate::{ClientProfile, Definition, ItemKind, Lists, ServerInfo};

pub(crate) fn rules(mode: LockMode) -> LockRules {
    LockRules { mode, ignore: IgnoredText::default(), resources: false, identity: "i".to_owned() }
}

pub(crate) fn seen(profile: ClientProfile, tools: &[(&str, &str)]) -> SeenLists {
    let tool = |(name, more): &(&str, &str)| {
        let text = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}{more}}}"#);
        Arc::new(Definition::parse(ItemKind::Tool, proxy_json::valid(text).unwrap()).unwrap())
    };
    let lists = Lists { tools: tools.iter().map(tool).collect(), ..Lists::default() };
    let info = ServerInfo { instructions: "Be kind.".to_owned(), ..ServerInfo::default() };
    SeenLists { profile, info: Arc::new(info), lists: Arc::new(lists) }
}

pub(crate) fn approved(before: Option<&LockedServer>, seen: &[SeenLists]) -> LockedServer {
    LockedServer::approving(before, seen, &rules(LockMode::Freeze), &|_, _| true, true).unwrap()
}
