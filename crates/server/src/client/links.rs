//! Remembers which server sent a link to a resource. Linked resources need not be listed, so the link is the only way
//! to find the server for `resources/read`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use proxy_json::{Object, RawRef};
use proxy_model::{Owner, Principal};

/// The maximum number of links per client. The oldest links are removed first.
const MAX_LINKS: usize = 1000;
/// Links with a longer URI are not remembered.
const MAX_URI_LENGTH: usize = 4096;
/// The maximum number of principals whose links are remembered.
const MAX_PRINCIPALS: usize = 10_000;

/// The links that one session, or one principal with stateless requests, has received.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<LinkMap>);

#[derive(Debug, Default)]
struct LinkMap {
    servers: HashMap<Arc<str>, Arc<str>>,
    order: VecDeque<Arc<str>>,
}

impl Links {
    fn lock(&self) -> MutexGuard<'_, LinkMap> {
        self.0.lock()
    }

    /// Remembers the links in a result, and returns their URIs.
    pub(crate) fn remember(&self, server: &Arc<str>, result: &RawRef) -> Vec<String> {
        let mut uris = uris(result);
        uris.retain(|uri| uri.len() <= MAX_URI_LENGTH);
        self.add(server, &uris);
        uris
    }

    /// Remembers links of a server.
    pub(crate) fn add(&self, server: &Arc<str>, uris: &[String]) {
        let mut links = self.lock();
        for uri in uris {
            let uri: Arc<str> = uri.as_str().into();
            if links.servers.insert(Arc::clone(&uri), Arc::clone(server)).is_none() {
                links.order.push_back(uri);
            }
            while links.order.len() > MAX_LINKS {
                if let Some(oldest) = links.order.pop_front() {
                    links.servers.remove(&oldest);
                }
            }
        }
    }

    /// The server that sent a link to this URI.
    pub(crate) fn server_of(&self, uri: &str) -> Option<Arc<str>> {
        self.lock().servers.get(uri).cloned()
    }
}

/// The URIs in the content blocks of a tool result or a prompt result.
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

/// The links of principals whose requests are stateless, by the owners of their handles: a link that was sent under one
/// profile is none under another.
#[derive(Debug, Default)]
pub(crate) struct LinkTable(Mutex<HashMap<String, Arc<Links>>>);

impl LinkTable {
    /// The links of a principal. `None` for anonymous requests, which may come from different people.
    pub(crate) fn of(&self, principal: &Principal) -> Option<Arc<Links>> {
        if principal.is_anonymous() {
            return None;
        }
        let owner = Owner::handle_text(principal);
        let mut table = self.0.lock();
        if let Some(links) = table.get(&owner) {
            return Some(Arc::clone(links));
        }
        if table.len() >= MAX_PRINCIPALS {
            // A client whose link is forgotten only has to call the tool again.
            table.clear();
        }
        Some(Arc::clone(table.entry(owner).or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_tools_and_prompts_are_remembered_within_bounds() {
        let links = Links::default();
        let (server, raw) = (Arc::from("a"), |text: String| proxy_json::valid(text).unwrap());
        for number in 0..=MAX_LINKS {
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
