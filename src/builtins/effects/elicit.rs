//! `elicit()`: asks the user of the client.

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};

use crate::foreign_text::visible;
use crate::json::{Object, Raw, RawRef, raw};
use crate::model::checked_form;
use crate::script::{Context, Question, ScriptError, convert, script_error};

/// The values of `when_unavailable`.
pub const UNAVAILABLE: [&str; 3] = ["accept", "reject", "error"];

#[starlark_module]
pub fn register_elicit(builder: &mut GlobalsBuilder) {
    /// Asks the user of the client a question. Returns a struct with `action` (`"accept"`, `"decline"` or `"cancel"`) and
    /// `content`, a dict with the values that the user filled in. `schema` describes the form: an object of strings,
    /// numbers, booleans and choices. Without `schema`, the user only accepts or declines. `when_unavailable` decides what
    /// happens if the client cannot ask its user: `"accept"` and `"reject"` stand for an answer (`"reject"` for
    /// `"decline"`), `"error"` raises an error. In `on_other_request` nobody can be asked, and this is an error. Only while a
    /// call is handled.
    ///
    /// Characters that nobody would see, such as those that reverse the direction of text, are shown as escapes
    /// (`\u{202e}`) in `message` and in the titles, descriptions and defaults of `schema`. Choices and names of fields must
    /// not contain them.
    ///
    /// The handler stops at this point and runs again from its top when the answer arrives. Its earlier effects are not
    /// repeated: calls to servers return the results that they returned the first time.
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
                .hint("it is \"accept\", \"reject\" or \"error\": what happens if the client cannot ask its user")
                .into());
        }
        if message.trim().is_empty() {
            return Err(script_error("`message` must not be empty"));
        }
        if let Some(method) = method_without_questions(Context::of(eval)?) {
            return Err(ScriptError::new(format!("`elicit()` cannot be used for `{method}`: nobody can be asked"))
                .hint("decide without a question, and refuse with `fail(\"why\")`")
                .into());
        }
        // Arguments of a model stand in it: whoever reads the question must see all of them.
        let message = visible(message).into_owned();
        let question = Question { message, schema: form(schema, eval.heap())?, reminders: 0 };
        let answer = Context::of(eval)?.ask("elicit", question, || unavailable(when_unavailable))?;
        answer_struct(&answer, eval.heap())
    }
}

/// The method of the current request, if it is none in which the user can be asked: only calls of items are.
fn method_without_questions(context: &Context) -> Option<String> {
    let request = context.host_for("`elicit()`").ok()?.request()?;
    (!request.is_for_item()).then(|| request.method.to_string())
}

/// The JSON Schema of the form, checked against what MCP elicitation allows.
fn form<'v>(schema: Option<Value<'v>>, heap: Heap<'v>) -> starlark::Result<Raw> {
    let members = match schema {
        None => Map::new(),
        Some(schema) => convert::to_object(schema, heap)?
            .ok_or_else(|| script_error(format!("`schema` must be a dict, not a `{}`", schema.get_type())))?,
    };
    let form = checked_form(members).map_err(|problem| {
        ScriptError::new(format!("invalid `schema`: {problem}"))
            .hint("`{\"type\": \"object\", \"properties\": {\"reason\": {\"type\": \"string\"}}}`")
    })?;
    Ok(raw(&form))
}

/// The answer of a client that cannot ask its user.
fn unavailable(choice: &str) -> Result<Raw, String> {
    let action = match choice {
        "accept" => "accept",
        "reject" => "decline",
        _ => return Err("cannot ask the user: the client does not support elicitation for this call".to_owned()),
    };
    Ok(raw(&json!({"action": action, "content": {}})))
}

/// The answer as the struct that scripts get.
fn answer_struct<'v>(answer: &RawRef, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let object = Object::of(answer).map_err(|error| script_error(error.to_string()))?;
    let action = object.string("action").unwrap_or_default();
    let content = match object.get("content") {
        Some(content) => convert::text_to_starlark(content.get(), heap)?,
        None => convert::to_starlark(&Json::Object(Map::new()), heap)?,
    };
    Ok(heap.alloc(AllocStruct([("action", heap.alloc(action)), ("content", content)])))
}
