//! The module `env`: variables of the proxy's own environment.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::super::world::World;
use super::look;

/// The environment the proxy was started with: keys and addresses that do not belong into a file. All of it, unless
/// `allowed_env` of the extension names variables. Also at the top level.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// A variable, or `default` where it is not set. If `allowed_env` of the extension names variables, all others are
    /// an error.
    ///
    /// ```python
    /// region = env.get("REGION", "eu-west-1")
    /// ```
    fn get<'v>(
        name: &str,
        #[starlark(default = "")] default: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let value = World::of(eval)?.variable(name)?;
        look("env.get", name, eval, || Ok(Json::from(value.unwrap_or(default))))
    }
}
