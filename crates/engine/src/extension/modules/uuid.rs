//! The module `uuid`: unique identifiers.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::perform;

/// Generates unique identifiers. No permission is needed.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Returns a random UUID (version 4): `"9b2f6c1e-6f0a-4c86-9d7e-0f4a3c1b2d5e"`.
    fn v4<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        perform("uuid.v4", &(), eval, |_| async { Ok(Json::from(::uuid::Uuid::new_v4().to_string())) })
    }
}
