//! `instructions()`: the server instructions that clients receive.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;

use crate::session::World;
use proxy_script::Context;

#[starlark_module]
pub fn register_instructions(builder: &mut GlobalsBuilder) {
    /// Sets the `instructions` that clients receive when they connect. By default, clients receive every backend's
    /// instructions under its name. If called repeatedly, the last call wins. Only at the top level.
    fn instructions<'v>(text: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        Context::of(eval)?.require_top_level("instructions()")?;
        World::of(eval)?.notes().instructions = Some(text.to_owned());
        Ok(NoneType)
    }
}
