//! The checks for a tool's arguments and results. Client calls, `index.call` and code mode all use them.

use std::sync::Arc;

use serde_json::Value as Json;
use starlark::values::{Value, ValueLike};

use super::Metadata;
use crate::effects::backend_handler::BackendHandler;
use crate::effects::wrapper::is_unchecked;
use proxy_model::{Definition, ItemKind, ItemRef, Snapshot, ToolChecks};

/// What the arguments of a tool must match before its handler gets them.
#[derive(Clone, Debug)]
pub struct ArgumentChecks {
    definition: Arc<Definition>,
    /// None if the handler checks the arguments itself.
    schema: Option<Arc<ToolChecks>>,
    /// The arguments that `bind()` filled in: the handler ignores what a client sends for them.
    bound: Arc<[String]>,
}

impl ArgumentChecks {
    /// The checks of a tool whose published schema is that of its server.
    pub fn of_published(definition: &Arc<Definition>, schema: Arc<ToolChecks>) -> Self {
        ArgumentChecks { definition: Arc::clone(definition), schema: Some(schema), bound: Arc::default() }
    }

    /// Returns why the arguments do not match the tool. A long check calls `pause` from time to time.
    pub fn check(&self, arguments: &Json, pause: &dyn Fn()) -> Result<(), String> {
        let tool = self.definition.key();
        if !arguments.is_object() {
            return Err(format!("the arguments of `{tool}` must be an object"));
        }
        match &self.schema {
            Some(schema) => schema.check_arguments(tool, arguments, &self.bound, pause),
            None => Ok(()),
        }
    }
}

impl Metadata {
    /// The checks of calls that `handler` answers. They are made once for each metadata, unless its handler is that of
    /// another tool.
    pub fn tool_checks(&self, handler: Value<'_>, snapshot: &Snapshot) -> Arc<ToolChecks> {
        match handler.downcast_ref::<BackendHandler>().map(|backend| &backend.target) {
            Some(target) if self.origin.as_ref() != Some(target) => {
                Arc::new(ToolChecks::new(&self.definition, listed(target, snapshot)))
            }
            _ => {
                let own = self.origin.is_some().then_some(&self.original);
                Arc::clone(self.checks.get_or_init(|| Arc::new(ToolChecks::new(&self.definition, own))))
            }
        }
    }

    /// The argument checks before `handler` runs. None for a tool that is forwarded unmodified: its server checks its
    /// own schema.
    pub fn argument_checks(&self, handler: Value<'_>, snapshot: &Snapshot) -> Option<ArgumentChecks> {
        if self.kind != ItemKind::Tool {
            return None;
        }
        let is_forwarded = handler.downcast_ref::<BackendHandler>().is_some();
        let schema = self.tool_checks(handler, snapshot);
        if !schema.applies(is_forwarded) {
            return None;
        }
        Some(ArgumentChecks {
            definition: Arc::clone(&self.definition),
            schema: (!is_unchecked(handler)).then_some(schema),
            bound: if is_forwarded { Arc::default() } else { Arc::clone(&self.bound) },
        })
    }
}

/// The server's own definition of an item.
fn listed<'s>(target: &ItemRef, snapshot: &'s Snapshot) -> Option<&'s Arc<Definition>> {
    let tools = &snapshot.backend(&target.backend)?.lists.of(ItemKind::Tool);
    tools.iter().find(|tool| tool.key() == target.name.as_ref())
}
