//! Tools with a user interface (MCP Apps). The tool names the resource that shows it, and the interface calls its server's
//! tools by the names that server gave them: both must still be found, whatever is renamed here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::builtins::{Plan, Published};
use crate::diagnostic::Diagnostic;
use crate::json::Object;
use crate::model::{Definition, ItemRef};

#[derive(Debug, Default)]
pub(crate) struct Apps {
    /// The server of each resource that a published tool names as its interface.
    resources: HashMap<String, Arc<str>>,
    /// The published names of tools that interfaces call by their original ones.
    tools: HashMap<Arc<str>, String>,
}

impl Apps {
    /// Reads what is published. What only one of two servers can have is worth a warning.
    pub(crate) fn of(plan: &Plan) -> (Self, Vec<Diagnostic>) {
        let shown: Vec<(&Published, &ItemRef, String)> = plan
            .tools
            .iter()
            .filter_map(|tool| Some((tool, tool.origin.as_ref()?, interface(&tool.definition)?)))
            .collect();
        let mut apps = Apps::default();
        let mut warnings = Vec::new();
        apps.take_resources(plan, &shown, &mut warnings);
        apps.take_tools(plan, &shown, &mut warnings);
        (apps, warnings)
    }

    fn take_resources(
        &mut self,
        plan: &Plan,
        shown: &[(&Published, &ItemRef, String)],
        warnings: &mut Vec<Diagnostic>,
    ) {
        for (tool, origin, uri) in shown {
            let published = plan.resources.iter().find(|resource| resource.definition.key() == uri);
            let server = published.and_then(|resource| Some(&resource.origin.as_ref()?.backend));
            let owner =
                self.resources.entry(uri.clone()).or_insert_with(|| Arc::clone(server.unwrap_or(&origin.backend)));
            if *owner != origin.backend {
                let (name, server) = (tool.definition.key(), &origin.backend);
                let warning = Diagnostic::warning(format!(
                    "the tool `{name}` of `{server}` shows itself with `{uri}`, which is a resource of `{owner}` here"
                ));
                warnings.push(warning.hint("publish only one of the two, or give each server a proxy of its own"));
            }
        }
    }

    fn take_tools(&mut self, plan: &Plan, shown: &[(&Published, &ItemRef, String)], warnings: &mut Vec<Diagnostic>) {
        let servers: HashSet<&Arc<str>> = shown.iter().map(|(_, origin, _)| &origin.backend).collect();
        if servers.is_empty() {
            return;
        }
        let published: HashMap<&str, &Published> =
            plan.tools.iter().map(|tool| (tool.definition.key(), tool)).collect();
        for tool in &plan.tools {
            let Some(origin) = tool.origin.as_ref().filter(|origin| servers.contains(&origin.backend)) else {
                continue;
            };
            let (name, key) = (&origin.name, tool.definition.key());
            let bare = published.get(name.as_ref()).copied();
            let first = self.tools.get(name).and_then(|key| published.get(key.as_str()).copied());
            match bare.or(first) {
                None => drop(self.tools.insert(Arc::clone(name), key.to_owned())),
                // Under its own name already, also where it is published a second time under another.
                Some(other) if other.origin.as_ref() == Some(origin) => {}
                Some(_) => {
                    let server = &origin.backend;
                    let warning = Diagnostic::warning(format!(
                        "the interfaces of `{server}` call its tool `{key}` by the name `{name}`, which is another tool here"
                    ));
                    warnings.push(warning.hint("publish it under its own name, or give the server a proxy of its own"));
                }
            }
        }
    }

    /// The server that has the interface of that URI.
    pub(crate) fn owner(&self, uri: &str) -> Option<&Arc<str>> {
        self.resources.get(uri)
    }

    /// The published name of a tool that an interface calls by this one.
    pub(crate) fn tool(&self, name: &str) -> Option<&str> {
        self.tools.get(name).map(String::as_str)
    }
}

/// The URI of a tool's interface, as servers write it now or wrote it earlier.
fn interface(tool: &Definition) -> Option<String> {
    let raw = tool.raw();
    memchr::memmem::find(raw.get().as_bytes(), b"resourceUri")?;
    let tool = Object::of(raw).ok()?;
    let meta = Object::of(tool.get("_meta")?).ok()?;
    let nested = meta.get("ui").and_then(|ui| Object::of(ui).ok()?.string("resourceUri"));
    nested.or_else(|| meta.string("ui/resourceUri"))
}
