//! The module `time`: what every script has of it, and a wait.

use std::time::Duration;

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneType;

use super::{act, seconds};
use crate::builtins;

pub(super) fn members(builder: &mut GlobalsBuilder) {
    builtins::time_members(builder);
    more(builder);
}

/// The module that every script has, and a wait.
#[starlark_module]
fn more(builder: &mut GlobalsBuilder) {
    /// Waits for so many seconds, at most to the deadline of the call.
    fn sleep(seconds: UnpackFloat, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<NoneType> {
        let wanted = self::seconds("seconds", seconds)?;
        act("time.sleep", &wanted, eval, |_| async move {
            tokio::time::sleep(Duration::try_from_secs_f64(wanted).unwrap_or(Duration::MAX)).await;
            Ok(Json::Null)
        })?;
        Ok(NoneType)
    }
}
