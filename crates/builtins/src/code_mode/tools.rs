//! The tools that a code-mode script may call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::Value;

use crate::search::handle::facts;
use crate::search::index::{parts_of, tool_of};
use crate::session::World;
use proxy_code_mode::sandbox::{found_tool, no_such_tool};
use proxy_code_mode::typings::identifiers;
use proxy_model::Definition;
use proxy_script::{Context, ScriptError, ToolFacts};
use proxy_search::{IndexCache, SharedIndex, Tool};

pub(crate) struct CodeTools<'v> {
    /// The value from which the tools were read.
    value: Value<'v>,
    tools: Vec<(Tool, Value<'v>)>,
    positions: HashMap<String, usize>,
    /// The tools that the caller must not know of. They are kept to be named in the record of a refused call.
    hidden: HashMap<String, Value<'v>>,
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
        let mut found = CodeTools {
            value: tools,
            tools: Vec::with_capacity(items.len()),
            positions: HashMap::new(),
            hidden: HashMap::new(),
            index,
        };
        let world = World::of(eval)?;
        let mut tools = Vec::with_capacity(items.len());
        for item in items {
            tools.push((tool_of(caller, item, world)?, item));
        }
        let listed = listed(&tools, eval)?;
        for (position, (tool, item)) in tools.into_iter().enumerate() {
            let name = tool.definition.key().to_owned();
            if listed.as_ref().is_some_and(|listed| !listed[position]) {
                found.hidden.entry(name).or_insert(item);
            } else if let Entry::Vacant(vacant) = found.positions.entry(name) {
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

    /// The tool of this name that the caller must not know of.
    pub(crate) fn hidden(&self, name: &str) -> Option<Value<'v>> {
        self.hidden.get(name).copied()
    }

    fn has(&self, definition: &Arc<Definition>) -> bool {
        let known = self.positions.get(definition.key()).map(|position| &self.tools[*position].0.definition);
        known.is_some_and(|known| Arc::ptr_eq(known, definition) || known == definition)
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
        // The index may have tools that the caller must not know of.
        let among: Vec<bool> = index.tools().iter().map(|tool| self.has(&tool.definition)).collect();
        let found = index.search_among(query, limit, Some(&among)).into_iter().map(|hit| {
            let definition = &index.tools()[hit.tool].definition;
            let function = self.positions.get(definition.key()).and_then(|position| functions[*position].as_deref());
            found_tool(definition, function)
        });
        Json::Array(found.collect())
    }
}

/// Which tools the caller may know of. None if these are all, as at the top level of a script.
fn listed<'v>(tools: &[(Tool, Value<'v>)], eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Option<Vec<bool>>> {
    let host = Context::of(eval)?.host.as_ref();
    let Some(authorization) = host.and_then(|host| host.authorization.as_ref()) else { return Ok(None) };
    let facts: Vec<ToolFacts<'_>> = tools.iter().map(|(tool, _)| facts(tool)).collect();
    Ok(Some(authorization.listed(&facts)))
}
