//! The module `env`: environment variables of the proxy.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::perform_now;
use crate::extension::runtime::ExtensionRuntime;

/// Reads the proxy's environment variables, for keys and addresses that do not belong in a file. All variables are
/// readable unless the extension declares `allowed_env`. Also works at the top level.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Returns a variable's value, or `default` if it is not set. If the extension declares `allowed_env`, reading any
    /// other variable is an error.
    ///
    /// ```python
    /// region = env.get("REGION", "eu-west-1")
    /// ```
    fn get<'v>(
        name: &str,
        #[starlark(default = "")] default: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let value = ExtensionRuntime::of(eval)?.variable(name)?;
        perform_now("env.get", name, eval, || Ok(Json::from(value.unwrap_or(default))))
    }
}
