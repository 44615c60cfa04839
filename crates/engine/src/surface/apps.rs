//! Tools with a user interface (MCP Apps). The tool refers to a UI resource, and the interface calls the server's tools
//! by their original names. Both must work even if the script renames the tool or does not publish the resource.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::{Plan, Published};
use proxy_json::Object;
use proxy_model::{Definition, ItemRef};

/// The user interfaces of the published tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Apps {
    /// The server of each resource that is the interface of a published tool.
    resources: HashMap<String, Arc<str>>,
    /// Maps the original URIs of interfaces that the script publishes under other URIs to the published URIs.
    renamed_resources: HashMap<String, String>,
    /// Maps the original names by which interfaces call tools to the published names.
    tools: HashMap<Arc<str>, String>,
}

impl Apps {
    /// Collects the interfaces of the published tools. Returns a warning for each URI and each tool name that two
    /// servers claim.
    pub(crate) fn of(plan: &Plan) -> (Self, Vec<Diagnostic>) {
        let with_interface: Vec<(&Published, &ItemRef, String)> = plan
            .items
            .tools
            .iter()
            .filter_map(|tool| Some((tool, tool.origin.as_ref()?, interface(&tool.definition)?)))
            .collect();
        let mut apps = Apps::default();
        let mut warnings = Vec::new();
        apps.add_resources(plan, &with_interface, &mut warnings);
        apps.add_tools(plan, &with_interface, &mut warnings);
        (apps, warnings)
    }

    fn add_resources(
        &mut self,
        plan: &Plan,
        with_interface: &[(&Published, &ItemRef, String)],
        warnings: &mut Vec<Diagnostic>,
    ) {
        for (tool, origin, uri) in with_interface {
            let published = plan.items.resources.iter().find(|resource| resource.definition.key() == uri);
            let server = published.and_then(|resource| Some(&resource.origin.as_ref()?.backend));
            let owner =
                self.resources.entry(uri.clone()).or_insert_with(|| Arc::clone(server.unwrap_or(&origin.backend)));
            if *owner != origin.backend {
                let (name, server) = (tool.definition.key(), &origin.backend);
                let warning = Diagnostic::warning(format!(
                    "the tool `{name}` of server `{server}` has the user interface `{uri}`, but that URI belongs to server `{owner}`"
                ));
                warnings.push(warning.hint("publish only one of the two, or run a separate proxy for each server"));
            }
            let is_renamed = |resource: &&Published| {
                let target = resource.origin.as_ref();
                target.is_some_and(|target| target.backend == *owner && *target.name == **uri)
            };
            if published.is_none()
                && let Some(renamed) = plan.items.resources.iter().find(is_renamed)
            {
                self.renamed_resources.insert(uri.clone(), renamed.definition.key().to_owned());
            }
        }
    }

    fn add_tools(
        &mut self,
        plan: &Plan,
        with_interface: &[(&Published, &ItemRef, String)],
        warnings: &mut Vec<Diagnostic>,
    ) {
        let servers: HashSet<&Arc<str>> = with_interface.iter().map(|(_, origin, _)| &origin.backend).collect();
        if servers.is_empty() {
            return;
        }
        let published: HashMap<&str, &Published> =
            plan.items.tools.iter().map(|tool| (tool.definition.key(), tool)).collect();
        for tool in &plan.items.tools {
            let Some(origin) = tool.origin.as_ref().filter(|origin| servers.contains(&origin.backend)) else {
                continue;
            };
            let (name, key) = (&origin.name, tool.definition.key());
            let bare = published.get(name.as_ref()).copied();
            let first = self.tools.get(name).and_then(|key| published.get(key.as_str()).copied());
            match bare.or(first) {
                None => drop(self.tools.insert(Arc::clone(name), key.to_owned())),
                // The tool is published under its original name already, and here once more under another name.
                Some(other) if other.origin.as_ref() == Some(origin) => {}
                Some(_) => {
                    let server = &origin.backend;
                    let warning = Diagnostic::warning(format!(
                        "the user interfaces of server `{server}` call the tool `{key}` as `{name}`, but that name is another tool"
                    ));
                    let hint = "publish the tool under its original name, or run a separate proxy for the server";
                    warnings.push(warning.hint(hint));
                }
            }
        }
    }

    /// The same without the other names of items that are not published.
    pub(crate) fn only(&self, has_tool: impl Fn(&str) -> bool, has_resource: impl Fn(&str) -> bool) -> Self {
        let tools = self.tools.iter().filter(|(_, published)| has_tool(published));
        let renamed = self.renamed_resources.iter().filter(|(_, published)| has_resource(published));
        Apps {
            resources: self.resources.clone(),
            renamed_resources: renamed.map(|(uri, published)| (uri.clone(), published.clone())).collect(),
            tools: tools.map(|(name, published)| (Arc::clone(name), published.clone())).collect(),
        }
    }

    /// The server of the interface at this URI.
    pub(crate) fn owner(&self, uri: &str) -> Option<&Arc<str>> {
        self.resources.get(uri)
    }

    /// The published URI of the interface with this original URI.
    pub(crate) fn resource(&self, uri: &str) -> Option<&str> {
        self.renamed_resources.get(uri).map(String::as_str)
    }

    /// The published name of the tool that interfaces call by this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&str> {
        self.tools.get(name).map(String::as_str)
    }
}

/// The URI of a tool's interface: `_meta.ui.resourceUri`, or `_meta["ui/resourceUri"]` from older servers.
fn interface(tool: &Definition) -> Option<String> {
    let raw = tool.raw();
    memchr::memmem::find(raw.get().as_bytes(), b"resourceUri")?;
    let tool = Object::of(raw).ok()?;
    let meta = Object::of(tool.get("_meta")?).ok()?;
    let nested = meta.get("ui").and_then(|ui| Object::of(ui).ok()?.string("resourceUri"));
    nested.or_else(|| meta.string("ui/resourceUri"))
}
