//! `instructions()`: what the client is told about the server.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;

use crate::builtins::session::World;
use crate::script::Context;

#[starlark_module]
pub fn register_instructions(builder: &mut GlobalsBuilder) {
    /// Says what the client is told about this server. Without it the client gets the backends' own instructions, each
    /// under its name. Only at the top level; the last call counts.
    fn instructions<'v>(text: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        Context::of(eval)?.require_top("instructions()")?;
        World::of(eval)?.notes().instructions = Some(text.to_owned());
        Ok(NoneType)
    }
}
