//! `log()` and `print()`.

use serde_json::Map;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;

use crate::diagnostic::nearest;
use crate::script::{Context, LogLevel, ScriptError, convert};

#[starlark_module]
pub fn register_log(builder: &mut GlobalsBuilder) {
    /// Writes a line to the log, with fields: `log("refused", level = "warning", tool = meta.name)`. The levels are
    /// `debug`, `info`, `warning`, `error`, and `audit`, which is never filtered away.
    fn log<'v>(
        message: Value<'v>,
        #[starlark(default = "info")] level: &str,
        #[starlark(kwargs)] fields: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let level = LogLevel::parse(level).ok_or_else(|| {
            let complaint = ScriptError::new(format!("there is no log level `{level}`"));
            match nearest(level, LogLevel::NAMES) {
                Some(near) => complaint.hint(format!("did you mean `{near}`?")),
                None => complaint.hint(format!("the levels are {}", LogLevel::NAMES.join(", "))),
            }
        })?;
        let mut members = Map::new();
        for (name, value) in &fields {
            // A log line must not fail for what it cannot show.
            let shown = convert::to_json(*value, eval.heap()).unwrap_or_else(|_| value.to_repr().into());
            members.insert(name.clone(), shown);
        }
        Context::of(eval)?.log(level, &message.to_str(), members)?;
        Ok(NoneType)
    }

    /// Writes its arguments to the log, separated by spaces; at the prompt of `proxy repl` to the terminal.
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
