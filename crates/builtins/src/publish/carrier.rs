//! `carrier()`: metadata for a tool that fronts a search index.

use std::sync::Arc;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use crate::metadata::Metadata;
use crate::metadata::carrier::{Carrier, SIGNATURES};
use crate::metadata::validity::metadata_of;
use crate::search::index::parts_of;
use crate::session::World;
use proxy_code_mode::sandbox::Workers;
use proxy_model::ItemKind;
use proxy_script::{Context, ScriptError};

#[starlark_module]
pub fn register_carrier(builder: &mut GlobalsBuilder) {
    /// Marks a tool as a front for a search index, like `find_tool` and `call_tool`, and returns the changed metadata.
    /// Policies (`cedar` in the config) then decide about the indexed tools instead of this one.
    ///
    /// The proxy fills in the description for each caller, based on the tools that the caller may use. `{tools}`
    /// becomes a sentence with the number of tools per server. `{signatures}` becomes their typed signatures or, if
    /// these are too long, instructions for finding them from a `run_script()` script.
    ///
    /// `name_argument` is the argument that names the tool to call, for a carrier like `call_tool`; by default there is
    /// none. `publish(meta, handler, over = index)` has the same effect.
    ///
    /// ```python
    /// index = search_index(aggregate(backends()))
    /// schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    /// find = carrier(metadata("find", "Finds tools. {tools}.", schema, {}), index)
    /// publish(find, lambda args: {"found": index.search(args["query"])})
    /// ```
    fn carrier<'v>(
        #[starlark(require = pos)] meta: Value<'v>,
        #[starlark(require = pos)] over: Value<'v>,
        name_argument: Option<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Metadata> {
        carrying("carrier", meta, over, name_argument, eval)
    }
}

/// The metadata of a carrier. `caller` is the name of the built-in, for errors.
pub(crate) fn carrying<'v>(
    caller: &str,
    meta: Value<'v>,
    over: Value<'v>,
    name_argument: Option<&str>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Metadata> {
    let metadata = metadata_of(ItemKind::Tool, meta)?;
    let Some((_, index)) = parts_of(over)? else {
        let kind = over.get_type();
        return Err(ScriptError::new(format!("{caller}() takes a search index, not a `{kind}`"))
            .hint("`search_index(aggregate(backends()))`")
            .into());
    };
    if metadata.definition.text("description").contains(SIGNATURES) && Context::of(eval)?.host.is_none() {
        // A script that describes code mode will probably use it: count its section as read and start a worker.
        World::of(eval)?.notes().sections_read.insert("codeMode".to_owned());
        Workers::shared().warm_up();
    }
    let mut carrier = metadata.with(&[])?;
    carrier.carrier = Some(Arc::new(Carrier { index, name_argument: name_argument.map(str::to_owned) }));
    Ok(carrier)
}
