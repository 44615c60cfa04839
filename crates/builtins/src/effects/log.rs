//! `log()`, `debug()` and `print()`.

use serde_json::Map;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;

use proxy_base::diagnostic::nearest;
use proxy_script::{Context, LogLevel, ScriptError, convert};

#[starlark_module]
pub fn register_log(builder: &mut GlobalsBuilder) {
    /// Logs a message with fields: `log("refused", level = "warning", tool = meta.name)`. The levels are `debug`,
    /// `info`, `warning`, `error`, and `audit`, which is never filtered out.
    fn log<'v>(
        message: Value<'v>,
        #[starlark(default = "info")] level: &str,
        #[starlark(kwargs)] fields: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let level = LogLevel::parse(level).ok_or_else(|| {
            let error = ScriptError::new(format!("unknown log level `{level}`"));
            match nearest(level, LogLevel::NAMES) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("the levels are {}", LogLevel::NAMES.join(", "))),
            }
        })?;
        let mut members = Map::new();
        for (name, value) in &fields {
            // Logging must not fail: a value that has no JSON form is shown by its `repr`.
            let shown = convert::to_json(*value, eval.heap()).unwrap_or_else(|_| value.to_repr().into());
            members.insert(name.clone(), shown);
        }
        Context::of(eval)?.log(level, &message.to_str(), members)?;
        Ok(NoneType)
    }

    /// Logs its arguments at level `debug`, separated by spaces, and returns the text: `debug("found", items)`.
    fn debug<'v>(
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let words: Vec<String> = arguments.items.iter().map(|value| value.to_str()).collect();
        let text = words.join(" ");
        Context::of(eval)?.log(LogLevel::Debug, &text, Map::new())?;
        Ok(text)
    }

    /// Writes its arguments to the log, separated by `sep`. In `proxy repl`, writes to the terminal.
    fn print<'v>(
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let words: Vec<String> = arguments.items.iter().map(|value| value.to_str()).collect();
        Context::of(eval)?.print(&words.join(sep))?;
        Ok(NoneType)
    }
}
