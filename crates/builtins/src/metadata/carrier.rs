//! Carriers: tools that front a search index, such as `find_tool` and `call_tool`. Policies decide about the indexed
//! tools instead of the carrier, and its description mentions only tools that the caller may use.

use std::sync::Arc;

use indexmap::IndexMap;

use proxy_code_mode::typings::signatures;
use proxy_json::{Object, RawRef, raw};
use proxy_model::{Definition, ItemKind};
use proxy_search::{SharedIndex, Tool, estimate_tokens};

/// The placeholders of a description.
const TOOLS: &str = "{tools}";
pub(crate) const SIGNATURES: &str = "{signatures}";
/// If the signatures of all tools cost more tokens than this, the description refers to `search_tools` instead.
const MAX_SIGNATURE_TOKENS: usize = 6000;
/// How many servers are named with their number of tools.
const MAX_NAMED_SERVERS: usize = 40;

/// The index that a carrier fronts.
#[derive(Debug)]
pub struct Carrier {
    pub index: Arc<SharedIndex>,
    /// The argument that names the tool to be called.
    pub name_argument: Option<String>,
}

/// What a caller is told of a carrier.
#[derive(Debug)]
pub struct RenderedCarrier {
    pub definition: Arc<Definition>,
    /// The description without signatures, for clients that do not show all of a long one. `None` if it has none.
    pub without_signatures: Option<String>,
}

impl Carrier {
    /// The carrier for a caller who may use the tools marked in `listed`, or all tools if it is `None`.
    pub fn rendered(&self, definition: &Arc<Definition>, listed: Option<&[bool]>) -> RenderedCarrier {
        let template = definition.text("description");
        let unchanged = || RenderedCarrier { definition: Arc::clone(definition), without_signatures: None };
        if !template.contains(TOOLS) && !template.contains(SIGNATURES) {
            return unchanged();
        }
        let is_listed = |position: usize| listed.is_none_or(|listed| listed.get(position).copied().unwrap_or(false));
        let tools = self.index.tools().enumerate().filter(|(position, _)| is_listed(*position));
        let tools: Vec<&Tool> = tools.map(|(_, tool)| tool).collect();
        let mut description = template.replace(TOOLS, &counted(&tools));
        let mut without_signatures = None;
        if description.contains(SIGNATURES) {
            without_signatures = Some(description.replace(SIGNATURES, &found_by_search(&tools)));
            description = description.replace(SIGNATURES, &described(&tools));
        }
        let changed = definition.with(ItemKind::Tool, &[("description", Some(raw(&description)))]);
        changed.map_or_else(|_| unchanged(), |it| RenderedCarrier { definition: Arc::new(it), without_signatures })
    }
}

impl Carrier {
    /// The tool that a call with these arguments names. Whether there is such a tool decides the script.
    pub fn named_tool(&self, arguments: &RawRef) -> Option<String> {
        let name = self.name_argument.as_deref()?;
        let arguments = Object::of(arguments).ok()?;
        if let Some(named) = arguments.string(name) {
            return Some(named);
        }
        // Models sometimes put the name among the tool's own arguments, and send these as JSON text.
        let inner = arguments.get("parameters")?;
        let Ok(text) = serde_json::from_str::<String>(inner.get()) else {
            return Object::of(inner).ok()?.string(name);
        };
        Object::of(proxy_json::valid(text).ok()?.as_ref()).ok()?.string(name)
    }
}

/// The number of tools, in total and by server: `There are 3 tools, by server: desk (2), wiki (1)`.
fn counted(tools: &[&Tool]) -> String {
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for tool in tools {
        let server = if tool.server.is_empty() { "the proxy" } else { tool.server.as_ref() };
        *counts.entry(server).or_default() += 1;
    }
    let named = counts.iter().take(MAX_NAMED_SERVERS).map(|(name, count)| format!("{name} ({count})"));
    let mut servers = named.collect::<Vec<_>>().join(", ");
    if counts.len() > MAX_NAMED_SERVERS {
        servers.push_str(&format!(" and {} more", counts.len() - MAX_NAMED_SERVERS));
    }
    let number = match tools.len() {
        1 => "There is 1 tool".to_owned(),
        number => format!("There are {number} tools"),
    };
    if servers.is_empty() { number } else { format!("{number}, by server: {servers}") }
}

/// The signatures of the tools, or how to find them if they are too many.
fn described(tools: &[&Tool]) -> String {
    let signatures = signatures(tools.iter().map(|tool| tool.definition.as_ref()));
    if estimate_tokens(&signatures) <= MAX_SIGNATURE_TOKENS {
        return format!("The tools (name?: may be left out):\n{signatures}");
    }
    found_by_search(tools)
}

/// How a script finds the tools.
fn found_by_search(tools: &[&Tool]) -> String {
    let counted = counted(tools);
    format!(
        "{counted}. search_tools(\"what it should do\") gives a list of dicts with name, description and signature of \
         those that fit; return it first, then write the script that calls them."
    )
}
