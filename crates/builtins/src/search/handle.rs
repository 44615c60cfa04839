//! The Rust half of a search index: the shared index, and each tool's position by name.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use allocative::Allocative;
use indexmap::IndexSet;
use serde_json::{Value as Json, json};
use starlark::starlark_simple_value;
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, starlark_value};

use super::compact::compact;
use crate::metadata::Metadata;
use proxy_json::{Raw, raw};
use proxy_script::{Context, ToolFacts};
use proxy_search::{Hit, SharedIndex, Tool, estimate_tokens};

/// How many similar names are suggested for an unknown one.
const MAX_SUGGESTIONS: usize = 3;

#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct SearchHandle {
    #[allocative(skip)]
    pub shared: Arc<SharedIndex>,
    /// Positions by name; the first tool if several have the same name.
    #[allocative(skip)]
    positions: HashMap<String, usize>,
    /// The token cost of each definition; counted on first use.
    #[allocative(skip)]
    costs: OnceLock<Vec<usize>>,
}

starlark_simple_value!(SearchHandle);

impl SearchHandle {
    pub fn new<'a>(shared: Arc<SharedIndex>, tools: impl Iterator<Item = &'a Metadata>) -> Self {
        let mut positions = HashMap::new();
        for (position, metadata) in tools.enumerate() {
            positions.entry(metadata.definition.key().to_owned()).or_insert(position);
        }
        SearchHandle { shared, positions, costs: OnceLock::new() }
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Runs a query on the index. Waiting for the index to be built or for an embedding does not count as computing time of
    /// the script. The result of an embedding model is recorded, so that a handler that runs again gets the same result.
    pub fn query(
        &self,
        kind: &'static str,
        request: &[&str],
        context: &Context,
        run: impl FnOnce(&Self) -> Json,
    ) -> starlark::Result<Arc<Raw>> {
        if self.shared.asks_a_model() && context.host.is_some() {
            return context.effect(kind, request, |_| Ok(Ok(raw(&run(self)))));
        }
        Ok(context.taken_over(context.wait(|| Ok(raw(&run(self))))?))
    }

    /// Which tools the caller may know about, by position. `None` if there are no policies or no caller: all of them.
    pub fn listed(&self, context: &Context) -> Option<Arc<[bool]>> {
        let authorization = context.host.as_ref()?.authorization.as_ref()?;
        let address = Arc::as_ptr(&self.shared).addr();
        if let Some(known) = authorization.remembered(address) {
            return Some(known);
        }
        let facts: Vec<ToolFacts<'_>> = self.shared.tools().map(facts).collect();
        let listed: Arc<[bool]> = authorization.listed(&facts).into();
        authorization.remember(address, &listed);
        Some(listed)
    }

    /// The position of a tool that the caller may know of.
    pub fn listed_position(&self, name: &str, context: &Context) -> Option<usize> {
        let position = self.position(name)?;
        let is_listed = |listed: Arc<[bool]>| listed.get(position).copied().unwrap_or(false);
        self.listed(context).is_none_or(is_listed).then_some(position)
    }

    /// The token cost of all definitions that the caller may know about.
    pub fn tokens(&self, context: &Context) -> usize {
        let costs = self
            .costs
            .get_or_init(|| self.shared.tools().map(|tool| estimate_tokens(tool.definition.raw().get())).collect());
        match self.listed(context) {
            Some(listed) => costs.iter().zip(listed.iter()).filter(|(_, listed)| **listed).map(|(cost, _)| cost).sum(),
            None => costs.iter().sum(),
        }
    }

    /// The best matches, best first, as the dicts that scripts get.
    pub fn search(&self, text: &str, limit: usize, listed: Option<&[bool]>) -> Json {
        self.shared.ready().search_among(text, limit, listed).iter().map(|hit| self.hit_json(hit)).collect()
    }

    /// Like [`SearchHandle::search`], with signatures instead of definitions. Tools for which `max_tokens` leave no room
    /// have no signature.
    pub fn search_compact(&self, text: &str, limit: usize, listed: Option<&[bool]>, max_tokens: Option<usize>) -> Json {
        let index = self.shared.ready();
        let hits = index.search_among(text, limit, listed);
        let found = hits.iter().map(|hit| index.tools()[hit.tool].definition.as_ref());
        let mut described = compact(found, max_tokens).into_iter();
        let told = hits.iter().map(|hit| {
            let tool = &index.tools()[hit.tool];
            let mut told =
                described.next().map_or_else(|| json!({"name": tool.definition.key()}), |tool| tool.to_json());
            told["backend"] = backend(tool);
            told["score"] = score(hit);
            told
        });
        told.collect()
    }

    /// The definition at a position, without what a model does not need to call the tool, such as icons.
    pub fn definition(&self, position: usize) -> Option<Json> {
        let definition = &self.shared.tools().nth(position)?.definition;
        let mut told = json!({"name": definition.key()});
        let title = definition.text("title");
        if !title.is_empty() {
            told["title"] = title.into();
        }
        told["description"] = definition.text("description").into();
        told["inputSchema"] = definition.member("inputSchema").unwrap_or_else(|| json!({}));
        if let Some(schema) = definition.member("outputSchema") {
            told["outputSchema"] = schema;
        }
        let annotations = definition.member("annotations");
        if let Some(annotations) = annotations.filter(|value| value.as_object().is_some_and(|hints| !hints.is_empty()))
        {
            told["annotations"] = annotations;
        }
        Some(told)
    }

    /// The names of known tools that are similar to an unknown one.
    pub fn nearest(&self, name: &str, listed: Option<&[bool]>) -> Vec<&str> {
        self.shared.ready().nearest_names(name, MAX_SUGGESTIONS, listed)
    }

    /// The servers of all tools that the caller may know about, in the order of the index.
    pub fn servers(&self, context: &Context) -> IndexSet<Arc<str>> {
        let listed = self.listed(context);
        let is_listed = |position: usize| listed.as_ref().is_none_or(|listed| listed.get(position) == Some(&true));
        let tools = self.shared.tools().enumerate().filter(|(position, _)| is_listed(*position));
        tools.map(|(_, tool)| Arc::clone(&tool.server)).collect()
    }

    fn hit_json(&self, hit: &Hit) -> Json {
        let tool = &self.shared.ready().tools()[hit.tool];
        let definition = &tool.definition;
        json!({
            "name": definition.key(),
            "title": definition.text("title"),
            "description": definition.text("description"),
            "inputSchema": definition.member("inputSchema").unwrap_or_else(|| json!({})),
            "backend": backend(tool),
            "score": score(hit),
        })
    }
}

fn backend(tool: &Tool) -> Json {
    if tool.server.is_empty() { Json::Null } else { tool.server.as_ref().into() }
}

fn score(hit: &Hit) -> Json {
    ((f64::from(hit.score) * 1000.0).round() / 1000.0).into()
}

/// A tool of an index as policies know it.
pub(crate) fn facts(tool: &Tool) -> ToolFacts<'_> {
    let origin = (!tool.server.is_empty()).then_some((&tool.server, &tool.original_name));
    ToolFacts { name: tool.definition.key(), origin, definition: &tool.definition }
}

impl fmt::Debug for SearchHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SearchHandle({})", self.shared.len())
    }
}

impl fmt::Display for SearchHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "of {} tools", self.shared.len())
    }
}

#[starlark_value(type = "search_handle")]
impl<'v> StarlarkValue<'v> for SearchHandle {}
