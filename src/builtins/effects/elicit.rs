//! `elicit()`: a question to the person behind the client.

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};

use crate::json::{Object, Raw, RawRef, raw};
use crate::model::checked_form;
use crate::script::{Context, Question, ScriptError, convert, script_error};

/// What a script gets where nobody can be asked.
const UNAVAILABLE: [&str; 3] = ["accept", "reject", "error"];

#[starlark_module]
pub fn register_elicit(builder: &mut GlobalsBuilder) {
    /// Asks the person behind the client and gives a struct: `action` (`"accept"`, `"decline"` or `"cancel"`) and
    /// `content`, a dict with what they filled in. `schema` describes the form: an object of text, numbers, booleans and
    /// choices; without one they just agree or not. `when_unavailable` says what happens where nobody can be asked:
    /// `"accept"` and `"reject"` stand for an answer (`"reject"` for `"decline"`), `"error"` is an error. Only while a
    /// call is handled.
    ///
    /// The handler stops here and is run again from its top when the answer is there. What it did before is not done
    /// again: calls of servers give the results that they gave.
    ///
    /// ```python
    /// def careful(args):
    ///     answer = elicit("Really delete %s?" % args["name"], when_unavailable = "reject")
    ///     if answer.action != "accept":
    ///         return error("not deleted: nobody agreed")
    ///     return delete(args)
    /// ```
    fn elicit<'v>(
        message: &str,
        schema: Option<Value<'v>>,
        #[starlark(require = named)] when_unavailable: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        if !UNAVAILABLE.contains(&when_unavailable) {
            return Err(ScriptError::new(format!("`when_unavailable` cannot be \"{when_unavailable}\""))
                .hint("it is \"accept\", \"reject\" or \"error\": what happens where nobody can be asked")
                .into());
        }
        if message.trim().is_empty() {
            return Err(script_error("a question needs a message"));
        }
        let question = Question { message: message.to_owned(), schema: form(schema, eval.heap())?, reminders: 0 };
        let answer = Context::of(eval)?.ask("elicit", question, || unavailable(when_unavailable))?;
        told(&answer, eval.heap())
    }
}

fn form<'v>(schema: Option<Value<'v>>, heap: Heap<'v>) -> starlark::Result<Raw> {
    let members = match schema {
        None => Map::new(),
        Some(schema) => convert::to_object(schema, heap)?
            .ok_or_else(|| script_error(format!("`schema` must be a dict, not a `{}`", schema.get_type())))?,
    };
    let form = checked_form(members).map_err(|problem| {
        ScriptError::new(format!("this cannot be asked: {problem}"))
            .hint("`{\"type\": \"object\", \"properties\": {\"reason\": {\"type\": \"string\"}}}`")
    })?;
    Ok(raw(&form))
}

fn unavailable(choice: &str) -> Result<Raw, String> {
    let action = match choice {
        "accept" => "accept",
        "reject" => "decline",
        _ => return Err("nobody can be asked: this client does not take such questions".to_owned()),
    };
    Ok(raw(&json!({"action": action, "content": {}})))
}

fn told<'v>(answer: &RawRef, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let object = Object::of(answer).map_err(|error| script_error(error.to_string()))?;
    let action = object.string("action").unwrap_or_default();
    let content = match object.get("content") {
        Some(content) => convert::text_to_starlark(content.get(), heap)?,
        None => convert::to_starlark(&Json::Object(Map::new()), heap)?,
    };
    Ok(heap.alloc(AllocStruct([("action", heap.alloc(action)), ("content", content)])))
}
