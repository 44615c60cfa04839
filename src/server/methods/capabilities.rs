//! What the proxy says it can do, and what it refuses because it did not say so.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::backend::TASKS_EXTENSION;
use crate::gateway::SurfaceHandle;
use crate::model::ServerInfo;
use crate::model::Snapshot;
use crate::server::Server;
use crate::server::client::client::Client;
use crate::surface::Surface;
use crate::wire::Revision;

/// How long the answer to a handshake may wait for the only server there is: as long as the first list would.
const PATIENCE: Duration = Duration::from_secs(2);

/// The user interfaces of tools. They need nothing of the proxy but their resources.
const APPS: &str = "io.modelcontextprotocol/ui";

/// What the protocol has and the proxy must carry itself before it may be promised in a server's name.
const NEEDS_CARRYING: [&str; 2] = ["logging", "tasks"];

impl Server {
    /// The surface to describe in a handshake. With many servers nothing is waited for: what is not there yet comes with
    /// a notification. A single one may be all there is to describe, and the client would wait for it with its very next
    /// request anyway.
    ///
    /// Where the script has run for somebody else already, there is nothing to wait for but its run for this visitor.
    pub(crate) async fn described(&self, view: &SurfaceHandle) -> Option<Arc<Surface>> {
        let now = self.gateway.surface_now(view);
        let has_run = || self.gateway.watch().borrow().surface.is_some();
        if now.is_some() || !(has_run() || self.gateway.snapshot().backends.len() == 1) {
            return now;
        }
        tokio::time::timeout(PATIENCE, self.gateway.surface(view)).await.ok()?.ok()
    }

    /// What a client can do here. The view of a single server says what that server says.
    pub(crate) fn capabilities(&self, surface: Option<&Surface>, revision: Revision) -> Value {
        let snapshot = self.gateway.snapshot();
        let carried = carried(revision, &snapshot);
        match surface.and_then(Surface::mirrors) {
            Some(only) => mirrored(&only.info.capabilities, &carried),
            None => of_many(carried, &snapshot),
        }
    }

    /// Whether any server has tasks of the form that this revision knows.
    pub(crate) fn carries_tasks(&self, revision: Revision) -> bool {
        let carried = carried(revision, &self.gateway.snapshot());
        carried.get("tasks").is_some() || carried["extensions"].get(TASKS_EXTENSION).is_some()
    }

    /// Whether a method belongs to a capability that the only server does not have. Asking it would be asking in vain.
    pub(crate) async fn lacks(&self, method: &str, client: &Client) -> bool {
        let Some(capability) = needed(method) else { return false };
        let Ok(surface) = self.surface(client).await else { return false };
        let Some(only) = surface.mirrors() else { return false };
        let declared = only.info.capabilities.get(capability);
        match method {
            "resources/subscribe" | "resources/unsubscribe" => {
                declared.is_none_or(|declared| declared["subscribe"] != true)
            }
            _ => declared.is_none(),
        }
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
