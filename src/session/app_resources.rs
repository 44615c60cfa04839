//! The user interfaces of tools (MCP Apps): a tool names the resource that shows it, and the two must find each other
//! whatever the tool is called here.

use std::collections::HashMap;
use std::sync::Arc;

use crate::builtins::{Plan, Published};
use crate::diagnostic::Diagnostic;
use crate::json::Object;
use crate::model::Definition;

/// The server of each resource that a published tool names as its interface.
#[derive(Debug, Default)]
pub(super) struct AppResources(HashMap<String, Arc<str>>);

impl AppResources {
    /// Reads the published tools. Where two servers mean different things by one URI, only one of them can be shown:
    /// that is worth a warning.
    pub(super) fn of(plan: &Plan) -> (Self, Vec<Diagnostic>) {
        let (mut owners, mut warnings) = (HashMap::<String, Arc<str>>::new(), Vec::new());
        for tool in &plan.tools {
            let (Some(origin), Some(uri)) = (&tool.origin, interface(&tool.definition)) else { continue };
            let published = plan.resources.iter().find(|resource| resource.definition.key() == uri);
            let shown = published.and_then(server_of).unwrap_or(&origin.backend);
            let owner = owners.entry(uri.clone()).or_insert_with(|| Arc::clone(shown));
            if *owner != origin.backend {
                let (name, server) = (tool.definition.key(), &origin.backend);
                warnings.push(
                    Diagnostic::warning(format!(
                        "the tool `{name}` of `{server}` shows itself with `{uri}`, which is a resource of `{owner}` here"
                    ))
                    .hint("both servers use this URI; publish only one of them, or give each a proxy of its own"),
                );
            }
        }
        (AppResources(owners), warnings)
    }

    /// The server that has the interface of that URI.
    pub(super) fn owner(&self, uri: &str) -> Option<&Arc<str>> {
        self.0.get(uri)
    }
}

fn server_of(resource: &Published) -> Option<&Arc<str>> {
    resource.origin.as_ref().map(|origin| &origin.backend)
}

/// The URI of a tool's interface, as servers write it now or wrote it earlier.
fn interface(tool: &Definition) -> Option<String> {
    let text = tool.raw().get();
    memchr::memmem::find(text.as_bytes(), b"resourceUri")?;
    let tool = Object::parse(text).ok()?;
    let meta = Object::parse(tool.get("_meta")?.get()).ok()?;
    let nested = meta.get("ui").and_then(|ui| Object::parse(ui.get()).ok()?.string("resourceUri"));
    nested.or_else(|| meta.string("ui/resourceUri"))
}
