//! Resources that a client knows from a link in a result: nobody lists them, so what is remembered is who gave the link.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::json::{Object, RawRef};
use crate::model::Principal;

/// Links of one client; the oldest go first.
const LIMIT: usize = 1000;
/// Longer ones are not worth the room.
const LONGEST: usize = 4096;
/// Principals whose links are remembered.
const PRINCIPALS: usize = 10_000;

/// The links that one owner was given: a session, or a principal whose requests stand alone.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    servers: HashMap<Arc<str>, Arc<str>>,
    order: VecDeque<Arc<str>>,
}

impl Links {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }

    /// Remembers the links in a result.
    pub(crate) fn remember(&self, server: &Arc<str>, result: &RawRef) {
        let uris = uris(result);
        let mut known = self.lock();
        for uri in uris.into_iter().filter(|uri| uri.len() <= LONGEST) {
            let uri: Arc<str> = uri.into();
            if known.servers.insert(Arc::clone(&uri), Arc::clone(server)).is_none() {
                known.order.push_back(uri);
            }
            while known.order.len() > LIMIT {
                if let Some(oldest) = known.order.pop_front() {
                    known.servers.remove(&oldest);
                }
            }
        }
    }

    /// The server that gave a link to this URI.
    pub(crate) fn server_of(&self, uri: &str) -> Option<Arc<str>> {
        self.lock().servers.get(uri).cloned()
    }
}

/// The URIs in the blocks of a tool's or prompt's result.
fn uris(result: &RawRef) -> Vec<String> {
    let Ok(result) = Object::of(result) else { return Vec::new() };
    let list = |member: &str| -> Vec<&RawRef> {
        result.get(member).and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default()
    };
    let messages = list("messages").into_iter().filter_map(|message| Object::of(message).ok()?.get("content"));
    list("content").into_iter().chain(messages).filter_map(uri).collect()
}

fn uri(block: &RawRef) -> Option<String> {
    let block = Object::of(block).ok()?;
    match block.string("type")?.as_str() {
        "resource_link" => block.string("uri"),
        "resource" => Object::of(block.get("resource")?).ok()?.string("uri"),
        _ => None,
    }
}

/// The links of principals that have no session.
#[derive(Debug, Default)]
pub(crate) struct LinkTable(Mutex<HashMap<Principal, Arc<Links>>>);

impl LinkTable {
    /// The links of a principal. Anonymous requests have none: they need not be one person's.
    pub(crate) fn of(&self, principal: &Principal) -> Option<Arc<Links>> {
        if principal.anonymous {
            return None;
        }
        let mut table = self.0.lock();
        if let Some(links) = table.get(principal) {
            return Some(Arc::clone(links));
        }
        if table.len() >= PRINCIPALS {
            // A forgotten link costs its reader another call of the tool, no more.
            table.clear();
        }
        Some(Arc::clone(table.entry(principal.clone()).or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_tools_and_prompts_are_remembered_within_bounds() {
        let links = Links::default();
        let (server, raw) = (Arc::from("a"), |text: String| crate::json::valid(text).unwrap());
        for number in 0..=LIMIT {
            let block = format!(r#"{{"type":"resource_link","uri":"x://{number}","name":"n"}}"#);
            links.remember(&server, &raw(format!(r#"{{"content":[{block}]}}"#)));
        }
        assert_eq!(links.server_of("x://0"), None);
        assert_eq!(links.server_of("x://1").as_deref(), Some("a"));
        let block = r#"{"type":"resource_link","uri":"y://1"}"#;
        links.remember(&server, &raw(format!(r#"{{"messages":[{{"role":"user","content":{block}}}]}}"#)));
        assert_eq!(links.server_of("y://1").as_deref(), Some("a"));
        assert_eq!(links.server_of("z://1"), None);
    }
}
