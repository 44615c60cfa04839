//! The module `time`: the members that every script has, and `sleep`.

use std::time::Duration;

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneType;

use super::{perform, seconds};
use proxy_builtins as builtins;

pub(super) fn members(builder: &mut GlobalsBuilder) {
    builtins::time_members(builder);
    register_sleep(builder);
}

/// The functions available to every script, plus `sleep`.
#[starlark_module]
fn register_sleep(builder: &mut GlobalsBuilder) {
    /// Waits this many seconds, but not beyond the call's deadline. Only while a call is handled.
    fn sleep(seconds: UnpackFloat, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<NoneType> {
        let duration = self::seconds("seconds", seconds)?;
        perform("time.sleep", &duration, eval, |_| async move {
            tokio::time::sleep(Duration::try_from_secs_f64(duration).unwrap_or(Duration::MAX)).await;
            Ok(Json::Null)
        })?;
        Ok(NoneType)
    }
}
