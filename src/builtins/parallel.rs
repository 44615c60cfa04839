//! `parallel()`, `sleep()` and `progress()`: a handler that takes its time.

use std::time::Duration;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::none::{NoneOr, NoneType};

use crate::json::{RawRef, raw};
use crate::script::{Context, ScriptError, script_error};

/// More at once than any backend likes.
const MOST_AT_ONCE: i32 = 256;
/// The longest wait that is not a mistake.
const LONGEST_SLEEP: f64 = 3600.0;

#[starlark_module]
pub fn register_parallel(builder: &mut GlobalsBuilder) {
    /// Calls functions without arguments at the same time, at most `limit` at once, and gives what they returned, in
    /// their order. While one waits for a server the others go on. If some of them fail, the error of the first of these
    /// is raised after all have ended. Only while a call is handled.
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
                .hint("write `lambda: call(args)`, which is a function, and not `call(args)`")
                .into());
        }
        let at_once = usize::try_from(limit.clamp(0, MOST_AT_ONCE)).unwrap_or_default();
        if at_once == 0 {
            return Err(script_error(format!("`limit` must be 1 or more, not {limit}")));
        }
        let returned = context.parallel("parallel", eval, &functions, at_once)?;
        Ok(eval.heap().alloc(returned))
    }

    /// Waits so many seconds, at most an hour. Only while a call is handled; a cancelled call ends the wait.
    fn sleep<'v>(
        #[starlark(require = pos)] seconds: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        if !(0.0..=LONGEST_SLEEP).contains(&seconds.0) {
            return Err(script_error(format!("sleep() takes 0 to {LONGEST_SLEEP} seconds, not {}", seconds.0)));
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

    /// Tells the client how far this call has come, if it wants to know: `progress(3, 10, "three of ten")`. `done` must
    /// grow from one time to the next; `total` may be unknown. Only while a call is handled.
    fn progress<'v>(
        #[starlark(require = pos)] done: UnpackFloat,
        #[starlark(default = NoneOr::None)] total: NoneOr<UnpackFloat>,
        #[starlark(default = NoneOr::None)] message: NoneOr<&'v str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let (total, message) = (total.into_option().map(|total| total.0), message.into_option());
        if !done.0.is_finite() || total.is_some_and(|total| !total.is_finite()) {
            return Err(script_error("progress() takes numbers that JSON can hold"));
        }
        Context::of(eval)?.fire("progress", |host| host.output.progress(done.0, total, message))?;
        Ok(NoneType)
    }
}
