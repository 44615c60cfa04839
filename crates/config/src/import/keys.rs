//! How the import treats members of a server that have no equivalent key in the proxy's config.

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

/// Members that are not imported, and the consequence.
const REFUSED: [(&[&str], &str); 4] = [
    (
        &["headersHelper", "http_headers_helper"],
        "the proxy does not run a program to get headers; write them into `headers`",
    ),
    (
        &["oauth", "auth", "authProviderType", "scopes", "oauth_resource", "targetAudience", "targetServiceAccount"],
        "for a server with a `url`, run `proxy login NAME`; other settings belong in `auth`",
    ),
    (
        &["trust", "autoApprove", "alwaysAllow", "default_tools_approval_mode"],
        "the proxy does not ask for approval before a call; the client does",
    ),
    (&["dev"], "the proxy does not watch the server's files or debug it"),
];

/// Members that restrict a server. Without them it could do more than before, so it is imported as disabled.
const PROTECTIVE: [(&str, &str); 5] = [
    ("sandboxEnabled", "the server would run without a sandbox"),
    ("sandbox", "the server would run without a sandbox"),
    ("environment_id", "the server would run on this machine"),
    ("remote", "the server would run on this machine"),
    ("omit_tools_from", "tools hidden in the other client would be visible"),
];

impl Importer<'_> {
    /// Reports what was not read. Returns whether the server must be disabled.
    pub(super) fn leftover(&mut self, EntryMembers { server, left }: EntryMembers) -> bool {
        let mut disabled = false;
        for member in &left {
            disabled |= self.leftover_member(&server, member);
        }
        disabled
    }

    fn leftover_member(&mut self, server: &str, member: &Member) -> bool {
        let Member { name, path, key, .. } = member;
        if INERT.contains(name) || is_nothing(member) {
            return false;
        }
        // In Codex, `tools` is about approval.
        let is_approval = *name == "tools" && matches!(member.node.value, Value::Map(_));
        let refused = if is_approval { "default_tools_approval_mode" } else { name };
        if let Some((_, change)) = REFUSED.iter().find(|(keys, _)| keys.contains(&refused)) {
            self.warn(format!("`{path}` was not imported: {change}"), key);
            return false;
        }
        let protects = PROTECTIVE.iter().find(|(protective, _)| protective == name).map(|(_, change)| *change);
        // Whatever it says about tools, it may hide some of them.
        let is_about_tools = name.to_lowercase().contains("tool");
        let protects = protects.or(is_about_tools.then_some("tools hidden in the other client could be visible"));
        match protects {
            Some(change) => {
                self.warn(format!("`{path}` was not imported: {change}. `{server}` is disabled"), key);
            }
            None => self.warn(format!("ignored `{path}`: it is not supported"), key),
        }
        protects.is_some()
    }
}

/// Whether a member only states its default.
fn is_nothing(member: &Member) -> bool {
    match &member.node.value {
        Value::Null | Value::Bool(false) => true,
        Value::List(items) => items.is_empty() && !member.name.to_lowercase().contains("tool"),
        Value::Map(entries) => entries.is_empty(),
        Value::String(text) => text.is_empty() || (member.name == "environment_id" && text == "local"),
        _ => false,
    }
}
