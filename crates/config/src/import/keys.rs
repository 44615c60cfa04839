//! The members of a server that the proxy has no key for, and what becomes of them.

use super::Importer;
use super::members::{EntryMembers, Member};
use crate::syntax::tree::Value;

/// Members that describe a server and change nothing.
const INERT: [&str; 26] = [
    "$schema",
    "alwaysLoad",
    "author",
    "bundled",
    "config_schema",
    "description",
    "displayName",
    "display_name",
    "extensionName",
    "faviconUrl",
    "gallery",
    "icon",
    "icons",
    "id",
    "metadata",
    "name",
    "note",
    "remoteConfigured",
    "serverName",
    "source",
    "sourceFile",
    "sourceSlug",
    "supports_parallel_tool_calls",
    "tags",
    "title",
    "version",
];

/// Members that are not taken over, and what that changes.
const REFUSED: [(&[&str], &str); 4] = [
    (
        &["headersHelper", "http_headers_helper"],
        "the proxy runs no program for headers, so its requests are without them; write them into `headers`",
    ),
    (
        &["oauth", "auth", "authProviderType", "scopes", "oauth_resource", "targetAudience", "targetServiceAccount"],
        "`proxy login NAME` logs in to a server with a `url`; what else it needs is said in `auth`",
    ),
    (
        &["trust", "autoApprove", "alwaysAllow", "default_tools_approval_mode"],
        "the proxy asks nobody before a call; the client that connects to it does",
    ),
    (&["dev"], "the proxy does not watch the server's files or debug it"),
];

/// Members that protect something. Without them the server could do more than before, so it is imported as disabled.
const PROTECTIVE: [(&str, &str); 5] = [
    ("sandboxEnabled", "the server would run without a sandbox"),
    ("sandbox", "the server would run without a sandbox"),
    ("environment_id", "the server would run on this machine"),
    ("remote", "the server would run on this machine"),
    ("omit_tools_from", "tools that are hidden there would be visible"),
];

impl Importer<'_> {
    /// Reports what was not read. Returns whether the server must be disabled.
    pub(super) fn leftover(&mut self, members: EntryMembers) -> bool {
        let server = members.server.clone();
        let mut disabled = false;
        for member in members.rest() {
            disabled |= self.leftover_member(&server, &member);
        }
        disabled
    }

    fn leftover_member(&mut self, server: &str, member: &Member) -> bool {
        let name = member.name;
        if INERT.contains(&name) || is_nothing(member) {
            return false;
        }
        let shown = name.escape_debug();
        if let Some((_, change)) = PROTECTIVE.iter().find(|(key, _)| *key == name) {
            self.warn(format!("`{server}.{shown}` was not taken over: {change}. `{server}` is disabled"), member.key);
            return true;
        }
        // Whatever it says about tools, it may hide some of them. In Codex, `tools` is about approval.
        let is_approval = name == "tools" && matches!(member.node.value, Value::Map(_));
        if is_approval || REFUSED.iter().any(|(keys, _)| keys.contains(&name)) {
            let named = if is_approval { "default_tools_approval_mode" } else { name };
            let change = REFUSED.iter().find(|(keys, _)| keys.contains(&named)).map_or("", |(_, change)| *change);
            self.warn(format!("`{server}.{shown}` was not taken over: {change}"), member.key);
            return false;
        }
        if name.to_lowercase().contains("tool") {
            let change = "tools that are hidden there could be visible";
            self.warn(format!("`{server}.{shown}` was not taken over: {change}. `{server}` is disabled"), member.key);
            return true;
        }
        self.warn(format!("ignored `{server}.{shown}`: it is not supported"), member.key);
        false
    }
}

/// Whether a member says only what would hold without it.
fn is_nothing(member: &Member) -> bool {
    match &member.node.value {
        Value::Null | Value::Bool(false) => true,
        Value::List(items) => items.is_empty() && !member.name.to_lowercase().contains("tool"),
        Value::Map(entries) => entries.is_empty(),
        Value::String(text) => text.is_empty() || (member.name == "environment_id" && text == "local"),
        _ => false,
    }
}
