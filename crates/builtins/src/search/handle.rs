//! The Rust half of a search index: the shared index, and each tool's position by name.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use allocative::Allocative;
use serde_json::{Value as Json, json};
use starlark::starlark_simple_value;
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, starlark_value};

use crate::metadata::Metadata;
use proxy_json::{Raw, raw};
use proxy_script::{Context, ToolFacts};
use proxy_search::{Hit, SharedIndex, Tool, estimate_tokens};

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

    fn hit_json(&self, hit: &Hit) -> Json {
        let tool = &self.shared.ready().tools()[hit.tool];
        let definition = &tool.definition;
        json!({
            "name": definition.key(),
            "title": definition.text("title"),
            "description": definition.text("description"),
            "inputSchema": definition.member("inputSchema").unwrap_or_else(|| json!({})),
            "backend": if tool.server.is_empty() { Json::Null } else { tool.server.as_ref().into() },
            "score": (f64::from(hit.score) * 1000.0).round() / 1000.0,
        })
    }
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
