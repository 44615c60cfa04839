//! `parallel()`, `sleep()` and `progress()`: for handlers that run for a while.

use std::time::Duration;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::none::{NoneOr, NoneType};

use proxy_json::{RawRef, raw};
use proxy_script::{Context, ScriptError, script_error};

/// Upper bound of `limit`. Larger values are lowered to it.
const MAX_CONCURRENCY: i32 = 256;
/// In seconds. A longer sleep is almost certainly a mistake.
const MAX_SLEEP: f64 = 3600.0;

#[starlark_module]
pub fn register_parallel(builder: &mut GlobalsBuilder) {
    /// Calls functions without arguments concurrently, at most `limit` at a time, and returns their results in order.
    /// While one function waits for a server, the others continue. If functions fail, raises the error of the first
    /// failed function in the list, after all have finished. Only while a call is handled.
    ///
    /// ```python
    /// def both(args):
    ///     weather, news = parallel([lambda: forecast(args), lambda: headlines({})])
    ///     return {"weather": unwrap(weather), "news": unwrap(news)}
    /// ```
    fn parallel<'v>(
        #[starlark(require = pos)] callables: Value<'v>,
        #[starlark(default = 10)] limit: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = Context::of(eval)?;
        let functions: Vec<Value<'v>> = callables.iterate(eval.heap())?.collect();
        if let Some(wrong) = functions.iter().find(|function| function.get_type() != "function") {
            return Err(ScriptError::new(format!("parallel() takes functions; one is a `{}`", wrong.get_type()))
                .hint("write `lambda: call(args)`, which is a function, instead of `call(args)`")
                .into());
        }
        let concurrency = usize::try_from(limit.clamp(0, MAX_CONCURRENCY)).unwrap_or_default();
        if concurrency == 0 {
            return Err(script_error(format!("`limit` must be 1 or more, not {limit}")));
        }
        let returned = context.parallel("parallel", eval, &functions, concurrency)?;
        Ok(eval.heap().alloc(returned))
    }

    /// Waits for the given number of seconds, at most 3600. Cancelling the call ends the wait. Only while a call is
    /// handled.
    fn sleep<'v>(
        #[starlark(require = pos)] seconds: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        if !(0.0..=MAX_SLEEP).contains(&seconds.0) {
            return Err(script_error(format!("sleep() takes 0 to {MAX_SLEEP} seconds, not {}", seconds.0)));
        }
        let pause = Duration::from_secs_f64(seconds.0);
        Context::of(eval)?.effect("sleep", &[], |host| {
            if let Some(passed) = host.mock("sleep", &raw(&seconds.0), None) {
                return Ok(passed);
            }
            host.wait_for(tokio::time::sleep(pause))?;
            Ok(Ok(RawRef::NULL.to_owned()))
        })?;
        Ok(NoneType)
    }

    /// Sends a progress notification if the client requested progress: `progress(3, 10, "three of ten")`. `done` must
    /// increase with every call; omit `total` if it is unknown. Only while a call is handled.
    fn progress<'v>(
        #[starlark(require = pos)] done: UnpackFloat,
        #[starlark(default = NoneOr::None)] total: NoneOr<UnpackFloat>,
        #[starlark(default = NoneOr::None)] message: NoneOr<&'v str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let (total, message) = (total.into_option().map(|total| total.0), message.into_option());
        if !done.0.is_finite() || total.is_some_and(|total| !total.is_finite()) {
            return Err(script_error("progress() takes finite numbers"));
        }
        Context::of(eval)?.fire("progress", |host| host.output.progress(done.0, total, message))?;
        Ok(NoneType)
    }
}
