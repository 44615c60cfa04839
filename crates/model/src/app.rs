//! The user interface of a tool (MCP Apps): a resource that the tool links in its `_meta`.

use serde_json::{Map, Value, json};

use super::definition::Definition;

/// The MIME type of a user interface.
const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// Links a user interface in the members of a tool's definition.
///
/// # Errors
/// The problem and how to solve it.
pub fn link_interface(members: &mut Map<String, Value>, uri: &str) -> Result<(), (String, String)> {
    if uri.len() <= "ui://".len() || !uri.starts_with("ui://") {
        let hint = "as in `ui = \"ui://board/main\"`, the URI of a resource with the page";
        return Err((format!("`ui` must be a URI that begins with `ui://`, not `{uri}`"), hint.to_owned()));
    }
    let twice = || ("`meta` has another `ui`".to_owned(), "name the user interface once, in `ui`".to_owned());
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    let ui = meta.as_object_mut().map(|meta| meta.entry("ui").or_insert_with(|| json!({})));
    let ui = ui.and_then(Value::as_object_mut).ok_or_else(twice)?;
    if ui.get("resourceUri").is_some_and(|other| other != uri) {
        return Err(twice());
    }
    ui.insert("resourceUri".to_owned(), uri.into());
    Ok(())
}

/// The URI of the user interface that a tool links.
pub fn interface_of(tool: &Definition) -> Option<String> {
    tool.member("_meta")?["ui"]["resourceUri"].as_str().map(str::to_owned)
}

/// What is wrong with the user interface of a tool, and how to solve it. `resource` finds the resource of a URI.
pub fn interface_fault<'a>(
    tool: &Definition,
    resource: impl FnOnce(&str) -> Option<&'a Definition>,
) -> Option<(String, String)> {
    let (name, uri) = (tool.key(), interface_of(tool)?);
    let Some(resource) = resource(&uri) else {
        return Some((
            format!("the tool `{name}` has the user interface `{uri}`, but there is no resource with this URI"),
            format!("add a resource with `uri = \"{uri}\"` and `mime_type = \"{MIME_TYPE}\"`"),
        ));
    };
    let kind = resource.member("mimeType");
    match kind.as_ref().and_then(Value::as_str) {
        Some(MIME_TYPE) => None,
        other => Some((
            format!(
                "the user interface `{uri}` of the tool `{name}` has the MIME type `{}`",
                other.unwrap_or_default()
            ),
            format!("set `mime_type = \"{MIME_TYPE}\"` of the resource"),
        )),
    }
}
