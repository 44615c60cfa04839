//! `elicit()`: shows a form to the client's user.

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

/// The member of an answer that tells whether the user was asked.
const ASKED: &str = "asked";

#[starlark_module]
pub fn register_elicit(builder: &mut GlobalsBuilder) {
    /// Shows a form to the client's user and waits for the answer (MCP elicitation). Returns a struct with `action`
    /// (`"accept"`, `"decline"` or `"cancel"`), `content`, a dict with the entered values, and `asked`, which is False
    /// if the client could not ask its user. `schema` describes the form: an object with strings, numbers, booleans
    /// and choices. Without `schema`, the user only accepts or declines. Only while a call is handled.
    ///
    /// `when_unavailable` decides what happens if the client does not support elicitation: `"accept"` acts as if the
    /// user accepted, `"reject"` as if the user declined, and `"error"` raises an error. `content` is then empty, even if
    /// the form has required fields. In `on_other_request`, `elicit()` always raises an error.
    ///
    /// In `message` and in the schema's titles, descriptions and defaults, invisible characters like bidirectional
    /// overrides are shown as escapes (`\u{202e}`). Choices and field names must not contain them.
    ///
    /// The handler stops here and runs again from the start when the answer arrives. Its earlier effects are not
    /// repeated: server calls return their first results.
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
        // The message may contain arguments from a model, and the user must see all of their characters.
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
        .hint("it is \"accept\", \"reject\" or \"error\", and applies if the client cannot ask its user"))
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
            "`{function}()` is not available in `{}` requests: the user cannot be asked",
            request.method
        ))
        .hint("decide without asking, and refuse with `fail(\"why\")`")),
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
    Ok(raw(&json!({"action": action, "content": {}, ASKED: false})))
}

/// Records for observers of the request whether the user has accepted.
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
    let was_asked = object.get(ASKED).is_none_or(|asked| asked.get() != "false");
    Ok(heap.alloc(AllocStruct([
        ("action", heap.alloc(action)),
        ("content", content),
        ("asked", heap.alloc(was_asked)),
    ])))
}
