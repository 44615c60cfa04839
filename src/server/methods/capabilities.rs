//! The capabilities that the proxy declares, and the methods it refuses because it did not declare them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::backend::TASKS_EXTENSION;
use crate::gateway::SurfaceHandle;
use crate::model::ServerInfo;
use crate::model::Snapshot;
use crate::server::Server;
use crate::surface::Surface;
use crate::wire::Revision;

/// How long a handshake waits for the only server: as long as the first list would.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(2);

/// The user interfaces of tools. They need nothing of the proxy but their resources.
const APPS: &str = "io.modelcontextprotocol/ui";

/// What the protocol has and the proxy must carry itself before it may be promised in a server's name.
const NEEDS_CARRYING: [&str; 2] = ["logging", "tasks"];

/// The surface to describe in a handshake. With many servers the handshake waits for none of them: what arrives later
/// is announced by a notification. A single server may be all there is to describe, and the client would wait for it
/// with its next request anyway. Where the script has run for another client, only its run for this one is waited for.
pub(super) async fn described_surface(server: &Server, handle: &SurfaceHandle) -> Option<Arc<Surface>> {
    let gateway = &server.gateway;
    let now = gateway.surface_now(handle);
    let has_run = || gateway.watch().borrow().surface.is_some();
    if now.is_some() || !(has_run() || gateway.snapshot().backends.len() == 1) {
        return now;
    }
    tokio::time::timeout(HANDSHAKE_TIMEOUT, gateway.surface(handle)).await.ok()?.ok()
}

/// The capabilities that a client is told. A surface that mirrors a single server has that server's.
pub(super) fn capabilities(server: &Server, surface: Option<&Surface>, revision: Revision) -> Value {
    let snapshot = server.gateway.snapshot();
    let carried = carried(revision, &snapshot);
    match surface.and_then(Surface::mirrors) {
        Some(only) => mirrored(&only.info.capabilities, &carried),
        None => of_many(carried, &snapshot),
    }
}

/// Whether any server has tasks in the form of this revision.
pub(super) fn carries_tasks(server: &Server, revision: Revision) -> bool {
    let carried = carried(revision, &server.gateway.snapshot());
    carried.get("tasks").is_some() || carried["extensions"].get(TASKS_EXTENSION).is_some()
}

/// Whether a method belongs to a capability that the only server does not have.
pub(super) fn lacks(surface: &Surface, method: &str) -> bool {
    let (Some(capability), Some(only)) = (needed(method), surface.mirrors()) else { return false };
    let declared = only.info.capabilities.get(capability);
    match method {
        "resources/subscribe" | "resources/unsubscribe" => {
            declared.is_none_or(|declared| declared["subscribe"] != true)
        }
        _ => declared.is_none(),
    }
}

/// What the proxy carries between servers and clients of a revision. Where a server completes nothing the answer is
/// empty; tasks are the server's of the client's own era, since all others are waited for.
fn carried(revision: Revision, snapshot: &Snapshot) -> Value {
    let mut carried = json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "completions": {},
        "logging": {},
    });
    let has_extension = |info: &ServerInfo| info.capabilities["extensions"].get(TASKS_EXTENSION).is_some();
    let any = |has: &dyn Fn(&ServerInfo) -> bool| snapshot.backends.iter().any(|backend| has(&backend.info));
    if revision.is_stateless() && any(&has_extension) {
        carried["extensions"] = json!({TASKS_EXTENSION: {}});
    }
    if revision == Revision::V2025_11_25 && any(&ServerInfo::has_session_tasks) {
        carried["tasks"] = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
    }
    carried
}

/// Of many servers: the same whatever there is now, since servers come later and a session-based client learns of
/// capabilities only once.
fn of_many(mut capabilities: Value, snapshot: &Snapshot) -> Value {
    let apps = snapshot.backends.iter().find_map(|backend| backend.info.capabilities["extensions"].get(APPS));
    if let Some(apps) = apps {
        capabilities["extensions"][APPS] = apps.clone();
    }
    capabilities
}

/// The capability a method belongs to.
fn needed(method: &str) -> Option<&'static str> {
    Some(match method.split('/').next()? {
        "tools" => "tools",
        "resources" => "resources",
        "prompts" => "prompts",
        "completion" => "completions",
        "logging" => "logging",
        _ => return None,
    })
}

/// A server's own declarations, without those that would promise what the proxy does not carry.
fn mirrored(declared: &Value, carried: &Value) -> Value {
    let mut told = declared.as_object().cloned().unwrap_or_default();
    told.retain(|name, _| !NEEDS_CARRYING.contains(&name.as_str()) || carried.get(name).is_some());
    if let (Some(own), Some(tasks)) = (told.get_mut("tasks"), carried.get("tasks")) {
        *own = tasks.clone();
    }
    if carried["resources"].get("subscribe").is_none() {
        remove(&mut told, "resources", "subscribe");
    }
    if carried["extensions"].get(TASKS_EXTENSION).is_none() {
        remove(&mut told, "extensions", TASKS_EXTENSION);
    }
    Value::Object(told)
}

fn remove(told: &mut Map<String, Value>, capability: &str, member: &str) {
    if let Some(Value::Object(members)) = told.get_mut(capability) {
        members.shift_remove(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_shows_what_the_server_says_and_the_proxy_carries() {
        let declared = json!({
            "resources": {"subscribe": true, "x": 1},
            "logging": {},
            "experimental": {"v": {"n": 1}},
            "extensions": {APPS: {"mimeTypes": []}, TASKS_EXTENSION: {}},
        });
        assert_eq!(
            mirrored(&declared, &json!({"resources": {}})),
            json!({
                "resources": {"x": 1},
                "experimental": {"v": {"n": 1}},
                "extensions": {APPS: {"mimeTypes": []}},
            })
        );
        let all = json!({"resources": {"subscribe": true}, "logging": {}, "extensions": {TASKS_EXTENSION: {}}});
        assert_eq!(mirrored(&declared, &all), declared);
    }
}
