//! `elicit()`: asks the user of the client.

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};

use proxy_base::foreign_text::visible;
use proxy_json::{Object, Raw, RawRef, raw};
use proxy_model::{Question, QuestionKind, checked_form};
use proxy_script::{Context, NotedFact, ScriptError, convert, script_error};

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
        check_unavailable(when_unavailable)?;
        check_message(message)?;
        require_askable("elicit", Context::of(eval)?)?;
        // Arguments of a model stand in it: whoever reads the question must see all of them.
        let message = visible(message).into_owned();
        let question = Question { message, schema: form(schema, eval.heap())?, reminders: 0, kind: QuestionKind::Form };
        let answer = Context::of(eval)?.ask("elicit", question, || unavailable(when_unavailable))?;
        note_answer(&answer, Context::of(eval)?);
        answer_struct(&answer, eval.heap())
    }
}

pub(super) fn check_unavailable(choice: &str) -> Result<(), ScriptError> {
    if UNAVAILABLE.contains(&choice) {
        return Ok(());
    }
    Err(ScriptError::new(format!("`when_unavailable` cannot be \"{choice}\""))
        .hint("it is \"accept\", \"reject\" or \"error\": what happens if the client cannot ask its user"))
}

pub(super) fn check_message(message: &str) -> starlark::Result<()> {
    if message.trim().is_empty() { Err(script_error("`message` must not be empty")) } else { Ok(()) }
}

/// An error if the current request is none in which the user can be asked: only calls of items are.
pub(super) fn require_askable(function: &str, context: &Context) -> Result<(), ScriptError> {
    let request = context.host_for(&format!("`{function}()`")).ok().and_then(|host| host.request());
    match request.filter(|request| !request.is_for_item()) {
        None => Ok(()),
        Some(request) => Err(ScriptError::new(format!(
            "`{function}()` cannot be used for `{}`: nobody can be asked",
            request.method
        ))
        .hint("decide without a question, and refuse with `fail(\"why\")`")),
    }
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
pub(super) fn unavailable(choice: &str) -> Result<Raw, String> {
    let action = match choice {
        "accept" => "accept",
        "reject" => "decline",
        _ => return Err("cannot ask the user: the client does not support elicitation for this call".to_owned()),
    };
    Ok(raw(&json!({"action": action, "content": {}})))
}

/// Notes for whoever watches the request whether the user has accepted.
pub(super) fn note_answer(answer: &RawRef, context: &Context) {
    let action = Object::of(answer).ok().and_then(|answer| answer.string("action"));
    if let Some(host) = &context.host {
        host.scope.note(NotedFact::Answered { is_accepted: action.as_deref() == Some("accept") });
    }
}

/// The answer as the struct that scripts get.
pub(super) fn answer_struct<'v>(answer: &RawRef, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let object = Object::of(answer).map_err(|error| script_error(error.to_string()))?;
    let action = object.string("action").unwrap_or_default();
    let content = match object.get("content") {
        Some(content) => convert::text_to_starlark(content.get(), heap)?,
        None => convert::to_starlark(&Json::Object(Map::new()), heap)?,
    };
    Ok(heap.alloc(AllocStruct([("action", heap.alloc(action)), ("content", content)])))
}
