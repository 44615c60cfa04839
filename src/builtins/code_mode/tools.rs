//! The tools that a code-mode script may call.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::Value;

use crate::builtins::search::index::{parts_of, tool_of};
use crate::builtins::session::World;
use crate::model::Definition;
use crate::sandbox::{found_tool, no_such_tool};
use crate::script::ScriptError;
use crate::search::{IndexCache, SharedIndex, Tool};
use crate::typings::identifiers;

pub(crate) struct CodeTools<'v> {
    /// The value from which the tools were read.
    value: Value<'v>,
    tools: Vec<(Tool, Value<'v>)>,
    positions: HashMap<String, usize>,
    index: Option<Arc<SharedIndex>>,
}

impl<'v> CodeTools<'v> {
    /// Reads the tools from a search index or from an iterable of `(metadata, handler)` tuples. If several have the same
    /// name, only the first is used.
    pub(crate) fn of(caller: &str, tools: Value<'v>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Self> {
        let (items, index) = match parts_of(tools)? {
            Some((items, index)) => (items, Some(index)),
            None => {
                let wrong = |_| {
                    let kind = tools.get_type();
                    ScriptError::new(format!("{caller}() takes a search index or a list of tools, not a `{kind}`"))
                        .hint("`search_index(aggregate(backends()))`, or a list such as `backend.tools()` gives")
                };
                (tools.iterate(eval.heap()).map_err(wrong)?.collect(), None)
            }
        };
        let mut found =
            CodeTools { value: tools, tools: Vec::with_capacity(items.len()), positions: HashMap::new(), index };
        let world = World::of(eval)?;
        for item in items {
            let tool = tool_of(caller, item, world)?;
            let name = tool.definition.key().to_owned();
            if let std::collections::hash_map::Entry::Vacant(vacant) = found.positions.entry(name) {
                vacant.insert(found.tools.len());
                found.tools.push((tool, item));
            }
        }
        Ok(found)
    }

    pub(crate) fn value(&self) -> Value<'v> {
        self.value
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.iter().map(|(tool, _)| tool.definition.as_ref())
    }

    /// The `(metadata, handler)` tuple of a tool by name.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'v>> {
        self.positions.get(name).map(|position| self.tools[*position].1)
    }

    /// The error message for an unknown name.
    pub(crate) fn unknown(&self, name: &str) -> String {
        no_such_tool(name, self.definitions().map(Definition::key))
    }

    /// The best matches, as the script gets them. Blocks until the index is built.
    pub(crate) fn search(&self, query: &str, limit: usize, world: &World) -> Json {
        let shared = self.index.clone().unwrap_or_else(|| {
            let tools = self.tools.iter().map(|(tool, _)| tool.clone()).collect();
            IndexCache::shared().index(tools, world.settings.embedder.clone())
        });
        let index = shared.ready();
        let functions = identifiers(self.definitions().map(Definition::key));
        let found = index.search(query, limit).into_iter().map(|hit| {
            let definition = &index.tools()[hit.tool].definition;
            let function = self.positions.get(definition.key()).and_then(|position| functions[*position].as_deref());
            found_tool(definition, function)
        });
        Json::Array(found.collect())
    }
}
