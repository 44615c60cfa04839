//! `notify()`: a log message for the client of the call.

use serde_json::json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::{NoneOr, NoneType};

use proxy_base::diagnostic::nearest;
use proxy_json::raw;
use proxy_script::{Context, ScriptError, convert};
use proxy_wire::LoggingLevel;

#[starlark_module]
pub fn register_notify(builder: &mut GlobalsBuilder) {
    /// Sends a log message (`notifications/message`) to the calling client, if the client has enabled this level: with
    /// `logging/setLevel` in a session, or with `logLevel` in a stateless request. The levels are `debug`, `info`,
    /// `notice`, `warning`, `error`, `critical`, `alert` and `emergency`. With `data`, any value, the client receives
    /// `{"message": message, "data": data}` instead of the text. To write to the proxy's log, use `log()`. Only while a
    /// call is handled.
    ///
    /// ```python
    /// def archive(args):
    ///     notify("skipped a file", level = "warning", data = {"file": "a.tmp"})
    ///     return "done"
    /// ```
    fn notify<'v>(
        message: &str,
        #[starlark(default = "info")] level: &str,
        #[starlark(default = NoneOr::None)] data: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let level = LoggingLevel::parse(level).ok_or_else(|| unknown(level))?;
        let data = match data.into_option() {
            Some(data) => json!({"message": message, "data": convert::to_json(data, eval.heap())?}),
            None => json!(message),
        };
        let params = raw(&json!({"level": level.as_str(), "data": data}));
        Context::of(eval)?.fire("notify", |host| host.output.notify(&params))?;
        Ok(NoneType)
    }
}

fn unknown(level: &str) -> ScriptError {
    let names = LoggingLevel::ALL.map(LoggingLevel::as_str);
    let error = ScriptError::new(format!("unknown notify() level `{level}`"));
    match nearest(level, names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("the levels are {}", names.join(", "))),
    }
}
