//! `skip()`: the reason why an item is not published.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;
use starlark::values::{Value, ValueLike};

use crate::metadata::Metadata;
use crate::session::World;
use proxy_script::{Context, ScriptError};

#[starlark_module]
pub fn register_skip(builder: &mut GlobalsBuilder) {
    /// Records why a server's item is not published. `proxy explain` and `proxy check` show the reason and the line.
    ///
    /// `skip()` itself hides nothing: an item is hidden if the script does not publish it, and an item that the script
    /// also publishes stays published. If an item has several reasons, the last one wins. Only the first 500 characters
    /// of `why` are kept. In a handler, or for metadata that the script created, `skip()` has no effect.
    ///
    /// ```python
    /// for meta, call in backends()["github"].tools():
    ///     hints = meta.annotations
    ///     if not hints.get("readOnlyHint") and hints.get("destructiveHint") != False:
    ///         skip(meta, "destructive tools are not for agents")
    ///     else:
    ///         publish(meta, call)
    /// ```
    fn skip<'v>(meta: Value<'v>, why: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        let metadata = meta.downcast_ref::<Metadata>().ok_or_else(|| {
            let actual = meta.get_type();
            ScriptError::new(format!("the first argument of skip() must be metadata, not a `{actual}`"))
                .hint("take it from a backend's list: `for meta, call in backend.tools(): skip(meta, \"why\")`")
        })?;
        if why.trim().is_empty() {
            return Err(ScriptError::new("the reason given to skip() is empty")
                .hint("say why the item is not published, or leave out the call")
                .into());
        }
        let context = Context::of(eval)?;
        // A test may call functions of a library outside of a session script.
        let world = context.world::<World>().filter(|_| context.is_top_level());
        if let (Some(world), Some(item)) = (world, &metadata.origin) {
            world.notes().provenance.skip(item, why, eval);
        }
        Ok(NoneType)
    }
}
