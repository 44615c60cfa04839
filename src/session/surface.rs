//! What a client sees: the immutable result of one script run.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use serde_json::Value;

use crate::builtins::{Handler, Published};
use crate::catalog::Snapshot;
use crate::diagnostic::Diagnostic;
use crate::json::Schema;
use crate::model::{Definition, ItemRef, Status};
use crate::wire::params::{self, ParamHeader};

/// One published tool, ready to be called.
#[derive(Debug)]
pub struct Entry {
    pub definition: Arc<Definition>,
    pub handler: Handler,
    /// The backend's tool it was made from, if any.
    pub origin: Option<ItemRef>,
    schemas: OnceLock<Schemas>,
    marked: OnceLock<Vec<ParamHeader>>,
}

#[derive(Debug)]
pub(super) struct Schemas {
    pub(super) input: Option<Schema>,
    pub(super) output: Option<Schema>,
}

impl Entry {
    fn new(tool: Published) -> Self {
        Entry {
            definition: tool.definition,
            handler: tool.handler,
            origin: tool.origin,
            schemas: OnceLock::new(),
            marked: OnceLock::new(),
        }
    }

    /// Compiled when first needed: tools that are forwarded as they are never need it.
    pub(super) fn schemas(&self) -> &Schemas {
        self.schemas
            .get_or_init(|| Schemas { input: self.compile("inputSchema"), output: self.compile("outputSchema") })
    }

    fn compile(&self, member: &str) -> Option<Schema> {
        let schema = self.definition.member(member)?;
        Schema::compile(&schema)
            .inspect_err(|error| tracing::warn!(tool = self.definition.key(), "`{member}` is not used: {error}"))
            .ok()
    }

    /// Which arguments a stateless client must repeat as headers.
    pub fn marked(&self) -> &[ParamHeader] {
        self.marked.get_or_init(|| {
            if memchr::memmem::find(self.definition.raw().get().as_bytes(), b"x-mcp-header").is_none() {
                return Vec::new();
            }
            self.definition.member("inputSchema").and_then(|schema| params::marked(&schema).ok()).unwrap_or_default()
        })
    }
}

/// Published tools in the script's order, and what a list shows of them.
#[derive(Debug)]
pub struct Surface {
    tools: IndexMap<String, Entry>,
    /// The snapshot it was made from.
    pub snapshot: u64,
    tool_list: Arc<str>,
    listed: usize,
    instructions: String,
    pub warnings: Vec<Diagnostic>,
}

impl Surface {
    pub(super) fn new(
        tools: Vec<Published>,
        instructions: Option<String>,
        warnings: Vec<Diagnostic>,
        snapshot: &Snapshot,
    ) -> Self {
        let hidden: Vec<&str> = snapshot
            .backends
            .iter()
            .filter(|backend| backend.status == Status::Failed)
            .map(|backend| backend.name.as_ref())
            .collect();
        // A tool of a server that is gone is still called (which brings the server back), but not offered.
        let listed: Vec<&str> = tools
            .iter()
            .filter(|tool| tool.origin.as_ref().is_none_or(|origin| !hidden.contains(&origin.backend.as_ref())))
            .map(|tool| tool.definition.raw().get())
            .collect();
        let (tool_list, count) = (format!("[{}]", listed.join(",")).into(), listed.len());
        Surface {
            snapshot: snapshot.version,
            tool_list,
            listed: count,
            instructions: instructions.unwrap_or_else(|| own_instructions(snapshot)),
            warnings,
            tools: tools.into_iter().map(|tool| (tool.definition.key().to_owned(), Entry::new(tool))).collect(),
        }
    }

    pub fn tool(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name)
    }

    pub fn tools(&self) -> impl Iterator<Item = &Entry> {
        self.tools.values()
    }

    /// The JSON array of the listed tools.
    pub fn tool_list(&self) -> &Arc<str> {
        &self.tool_list
    }

    /// How many tools a client is shown.
    pub fn listed(&self) -> usize {
        self.listed
    }

    pub fn instructions(&self) -> &str {
        &self.instructions
    }
}

/// What the servers say about themselves, each under its name.
fn own_instructions(snapshot: &Snapshot) -> String {
    let parts: Vec<String> = snapshot
        .backends
        .iter()
        .filter(|backend| backend.status != Status::Failed && !backend.info.instructions.trim().is_empty())
        .map(|backend| format!("# {}\n\n{}", backend.name, backend.info.instructions.trim()))
        .collect();
    parts.join("\n\n")
}

/// A tool's arguments as a value; absent ones are an empty object.
pub(super) fn arguments_value(raw: Option<&crate::json::RawRef>) -> Result<Value, String> {
    match raw {
        Some(raw) => serde_json::from_str(raw.get()).map_err(|error| error.to_string()),
        None => Ok(Value::Object(serde_json::Map::new())),
    }
}
