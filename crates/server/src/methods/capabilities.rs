//! The capabilities that the proxy declares, and the methods it refuses because it did not declare them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::kept_results;
use crate::Server;
use crate::client::list_changes::list_changed;
use crate::client::state::{Client, ClientSession};
use crate::era::encode_for;
use proxy_engine::gateway::SurfaceHandle;
use proxy_engine::surface::Surface;
use proxy_mcp_client::TASKS_EXTENSION;
use proxy_model::{ClientProfile, ItemKind, ServerInfo, Snapshot, Status, capability_of};
use proxy_wire::{Method, Request, Revision};

/// The capabilities with lists, and the notifications about their changes.
const ANNOUNCED: [(&str, &str); 3] = [
    ("tools", list_changed(ItemKind::Tool)),
    ("resources", list_changed(ItemKind::Resource)),
    ("prompts", list_changed(ItemKind::Prompt)),
];

/// How long a handshake waits for the first run of the script. The run itself waits two seconds for servers.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);

/// The MCP Apps extension. It needs no support of the proxy except that the UI resources can be read.
const APPS: &str = "io.modelcontextprotocol/ui";

/// Capabilities that work only if the proxy supports them too. They are not copied from a server otherwise.
const NEED_PROXY_SUPPORT: [&str; 2] = ["logging", "tasks"];

/// The surface to describe in a handshake. Its instructions are only sent here, so the handshake waits for a run of the
/// script with what is known by then. It also waits if the only server is known from clients of the other era, to which it
/// may have declared something else.
pub(super) async fn described_surface(server: &Server, handle: &SurfaceHandle) -> Option<Arc<Surface>> {
    let gateway = &server.gateway;
    let is_other_era = is_known_from_other_era(&gateway.snapshot_of(handle), handle.profile());
    let is_described = !is_other_era && gateway.is_prepared(handle.profile());
    let now = gateway.surface_now(handle).filter(|_| is_described);
    if now.is_some() {
        return now;
    }
    let described = async {
        if is_other_era {
            let version = gateway.servers_settled().await;
            let mut current = gateway.view(handle).watch();
            let _ = current.wait_for(|now| now.snapshot >= version).await;
        }
        gateway.surface(handle).await.ok()
    };
    tokio::time::timeout(HANDSHAKE_TIMEOUT, described).await.unwrap_or_else(|_| gateway.surface_now(handle))
}

/// Whether what is known of the only server is what it told clients of the other era.
fn is_known_from_other_era(snapshot: &Snapshot, profile: ClientProfile) -> bool {
    let [only] = snapshot.backends.as_slice() else { return false };
    let info = only.variant(profile).map_or(&only.info, |variant| &variant.info);
    only.status == Status::Cached && info.era() != profile.era
}

/// The capabilities that the proxy declares. A surface that mirrors a single server declares that server's
/// capabilities.
pub(super) fn capabilities(server: &Server, surface: Option<&Surface>, client: &Client) -> Value {
    let snapshot = server.gateway.snapshot_of(&client.surface_handle);
    let supported = supported(client.revision, &snapshot);
    match surface.and_then(Surface::mirrors) {
        Some(only) => {
            let mut capabilities = mirrored(&only.info.capabilities, &supported);
            let has_tools = capabilities.get("tools").is_some();
            if has_tools && capabilities.get("resources").is_none() && kept_results::has_limits(server, client) {
                // The pages of large results are resources.
                capabilities["resources"] = json!({});
            }
            capabilities
        }
        None => aggregated(supported, &snapshot),
    }
}

/// The notifications about those lists of which the client's handshake said that changes are announced.
pub(crate) async fn list_notifications(server: &Server, client: &Client) -> Vec<&'static str> {
    let surface = described_surface(server, &client.surface_handle).await;
    if let (Some(ClientSession { seen_lists, .. }), Some(surface)) = (client.session(), &surface) {
        seen_lists.set_if_none(|| surface.list_digests());
    }
    let declared = capabilities(server, surface.as_deref(), client);
    let announced = ANNOUNCED.into_iter().filter(|(capability, _)| declared[*capability]["listChanged"] == true);
    announced.map(|(_, notification)| notification).collect()
}

/// The `serverInfo` of a handshake. A surface that mirrors a single server names that server.
pub(super) fn server_info(surface: Option<&Surface>) -> Value {
    let own = surface.and_then(Surface::mirrors).map(|only| only.info.implementation.clone());
    own.filter(|own| own["name"].is_string()).unwrap_or_else(encode_for::server_info)
}

/// Whether any server that a client sees supports tasks as the client's revision defines them.
pub(super) fn supports_tasks(server: &Server, client: &Client) -> bool {
    let supported = supported(client.revision, &server.gateway.snapshot_of(&client.surface_handle));
    supported.get("tasks").is_some() || supported["extensions"].get(TASKS_EXTENSION).is_some()
}

/// Whether a method belongs to a capability that a mirrored server does not declare.
pub(super) fn lacks(surface: &Surface, request: &Request) -> bool {
    let (Some(capability), Some(only)) = (capability_of(&request.method), surface.mirrors()) else { return false };
    let declared = only.info.capabilities.get(capability);
    match request.kind {
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            declared.is_none_or(|declared| declared["subscribe"] != true)
        }
        _ => declared.is_none(),
    }
}

/// The capabilities that the proxy supports for clients of a revision. Completions are always among them: for a server
/// without completions the result is empty. Tasks are supported if a server of the same era has them; the proxy waits
/// for the tasks of other servers itself.
fn supported(revision: Revision, snapshot: &Snapshot) -> Value {
    let mut supported = json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "completions": {},
        "logging": {},
    });
    let has_extension = |info: &ServerInfo| info.capabilities["extensions"].get(TASKS_EXTENSION).is_some();
    let any = |has: &dyn Fn(&ServerInfo) -> bool| snapshot.infos().any(has);
    if revision.is_stateless() && any(&has_extension) {
        supported["extensions"] = json!({TASKS_EXTENSION: {}});
    }
    if revision == Revision::V2025_11_25 && any(&ServerInfo::has_session_tasks) {
        supported["tasks"] = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
    }
    supported
}

/// The capabilities for several servers. They do not depend on what is published now: servers may connect later, and a
/// session-based client reads the capabilities only once.
fn aggregated(mut capabilities: Value, snapshot: &Snapshot) -> Value {
    let apps = snapshot.infos().find_map(|info| info.capabilities["extensions"].get(APPS));
    if let Some(apps) = apps {
        capabilities["extensions"][APPS] = apps.clone();
    }
    capabilities
}

/// The capabilities of a mirrored server, without those that the proxy does not support.
fn mirrored(declared: &Value, supported: &Value) -> Value {
    let mut capabilities = declared.as_object().cloned().unwrap_or_default();
    capabilities.retain(|name, _| !NEED_PROXY_SUPPORT.contains(&name.as_str()) || supported.get(name).is_some());
    if let (Some(own), Some(tasks)) = (capabilities.get_mut("tasks"), supported.get("tasks")) {
        *own = tasks.clone();
    }
    if supported["resources"].get("subscribe").is_none() {
        remove(&mut capabilities, "resources", "subscribe");
    }
    if supported["extensions"].get(TASKS_EXTENSION).is_none() {
        remove(&mut capabilities, "extensions", TASKS_EXTENSION);
    }
    Value::Object(capabilities)
}

fn remove(capabilities: &mut Map<String, Value>, capability: &str, member: &str) {
    if let Some(Value::Object(members)) = capabilities.get_mut(capability) {
        members.shift_remove(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_declares_what_the_server_declares_and_the_proxy_supports() {
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
