//! The checks that belong to a tool's metadata and handler. Every way to a tool uses them: a client's own call,
//! `index.call` and code mode.

use std::sync::Arc;

use starlark::values::{Value, ValueLike};

use super::Metadata;
use crate::builtins::backends::BackendHandler;
use crate::model::{Definition, ItemKind, ItemRef, Snapshot, ToolChecks};

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
}

/// The server's own definition of an item.
fn listed<'s>(target: &ItemRef, snapshot: &'s Snapshot) -> Option<&'s Arc<Definition>> {
    let tools = &snapshot.backend(&target.backend)?.lists.of(ItemKind::Tool);
    tools.iter().find(|tool| tool.key() == target.name.as_ref())
}
