//! The value that `testing.session` returns, and its methods.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use serde_json::{Value as Json, json};
use starlark::docs::DocType;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::none::{NoneOr, NoneType};
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use crate::testing::session::TestSession;
use proxy_model::ItemKind;
use proxy_script::{convert, script_error};

#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct SessionValue(#[allocative(skip)] pub(super) Arc<TestSession>);

starlark_simple_value!(SessionValue);

impl fmt::Debug for SessionValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for SessionValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<session of {}>", self.0.request.principal.sub())
    }
}

starlark::methods_static!(SESSION_METHODS = session_members);

#[starlark_value(type = "test_session")]
impl<'v> StarlarkValue<'v> for SessionValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(SESSION_METHODS.methods())
    }
}

pub(super) fn documented() -> DocType {
    DocType::from_starlark_value::<SessionValue>()
}

fn alloc<'v>(json: &Json, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    Ok(convert::to_starlark(json, heap)?)
}

/// The arguments of a request as JSON.
fn arguments<'v>(value: NoneOr<Value<'v>>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Json> {
    let Some(value) = value.into_option() else { return Ok(json!({})) };
    let members = convert::to_object(value, eval.heap())?;
    members
        .map(Json::Object)
        .ok_or_else(|| script_error(format!("arguments must be a dict, not a `{}`", value.get_type())))
}

fn request<'v>(
    session: &TestSession,
    kind: ItemKind,
    key: &str,
    arguments: Option<&Json>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let result = session.request(kind, key, arguments, eval)?;
    Ok(convert::text_to_starlark(result.get(), eval.heap())?)
}

/// A session under test.
#[starlark_module]
fn session_members(builder: &mut MethodsBuilder) {
    /// Returns the names of the tools that the client sees, in order.
    fn tool_names<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let tools = this.0.list(ItemKind::Tool);
        let names: Vec<Json> = tools.as_array().into_iter().flatten().map(|tool| tool["name"].clone()).collect();
        alloc(&Json::Array(names), heap)
    }

    /// Returns the tools that the client sees: a list of dicts.
    fn tools<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        alloc(&this.0.list(ItemKind::Tool), heap)
    }

    /// Returns the resources that the client sees: a list of dicts.
    fn resources<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        alloc(&this.0.list(ItemKind::Resource), heap)
    }

    /// Returns the resource templates that the client sees: a list of dicts.
    fn resource_templates<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        alloc(&this.0.list(ItemKind::ResourceTemplate), heap)
    }

    /// Returns the prompts that the client sees: a list of dicts.
    fn prompts<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        alloc(&this.0.list(ItemKind::Prompt), heap)
    }

    /// Returns the `instructions` that the client receives.
    fn instructions(this: &SessionValue) -> starlark::Result<String> {
        Ok(this.0.request.surface.instructions().to_owned())
    }

    /// Returns the labels of what the conversation has read so far, sorted: a list of strings. Without the section `flow`
    /// in the config, the list is empty.
    fn marks<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let labels = proxy_fiber::wait_here(this.0.calls.marks(&this.0.request)).map_err(script_error)?;
        alloc(&labels.iter().map(|label| Json::from(label.as_ref())).collect(), heap)
    }

    /// Calls a tool as a client does, and returns the result as a dict. Fails if the tool is not published.
    fn call<'v>(
        this: &SessionValue,
        #[starlark(require = pos)] name: &str,
        #[starlark(default = NoneOr::None)] args: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let arguments = arguments(args, eval)?;
        request(&this.0, ItemKind::Tool, name, Some(&arguments), eval)
    }

    /// Gets a prompt as a client does, and returns the result as a dict.
    fn get_prompt<'v>(
        this: &SessionValue,
        #[starlark(require = pos)] name: &str,
        #[starlark(default = NoneOr::None)] args: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let arguments = arguments(args, eval)?;
        request(&this.0, ItemKind::Prompt, name, Some(&arguments), eval)
    }

    /// Reads a resource as a client does, and returns the result as a dict.
    fn read_resource<'v>(
        this: &SessionValue,
        #[starlark(require = pos)] uri: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        request(&this.0, ItemKind::Resource, uri, None, eval)
    }

    /// Completes an argument as a client does, and returns a dict with `values`, `hasMore` and, if it is known,
    /// `total`. `name` is a prompt or a resource template, `argument` the prompt argument or template variable, `value`
    /// the typed text, and `context` a dict with the arguments filled in so far. Fails if the completion fails.
    ///
    /// ```python
    /// testing.eq(s.complete("trip", "city", "Ber")["values"], ["Berlin", "Bern"])
    /// ```
    fn complete<'v>(
        this: &SessionValue,
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] argument: &str,
        #[starlark(default = "")] value: &str,
        #[starlark(default = NoneOr::None)] context: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = arguments(context, eval)?;
        let completion = this.0.complete(name, argument, value, &context, eval)?;
        alloc(&completion, eval.heap())
    }

    /// Subscribes to a resource with `refresh`; `updates()` returns its changes.
    fn follow<'v>(
        this: &SessionValue,
        #[starlark(require = pos)] uri: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        this.0.follow(uri, eval)?;
        Ok(NoneType)
    }

    /// Ends the subscription to a resource.
    fn unfollow(this: &SessionValue, #[starlark(require = pos)] uri: &str) -> starlark::Result<NoneType> {
        this.0.unfollow(uri)?;
        Ok(NoneType)
    }

    /// Refreshes the followed resources that are due on the test clock, and returns the URIs of the changed ones, which
    /// the client is notified about.
    ///
    /// ```python
    /// s.follow("queue://length")
    /// s.call("enqueue", {"job": "a"})
    /// testing.advance(5)
    /// testing.eq(s.updates(), ["queue://length"])
    /// ```
    fn updates<'v>(this: &SessionValue, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let updated = this.0.updates(eval)?;
        alloc(&json!(updated), eval.heap())
    }

    /// Runs the script's `on_other_request` as before a completion, a subscription, a task request or a vendor method.
    /// If the script refuses, fails with the refusal text. No server is contacted.
    ///
    /// ```python
    /// testing.raises(lambda: s.other_request("resources/subscribe", "file:///a", {"uri": "file:///a"}), "not you")
    /// ```
    fn other_request<'v>(
        this: &SessionValue,
        #[starlark(require = pos)] method: &str,
        #[starlark(require = pos)] name: &str,
        #[starlark(default = NoneOr::None)] args: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let arguments = arguments(args, eval)?;
        this.0.other_request(method, name, &arguments, eval)?;
        Ok(NoneType)
    }

    /// Returns the calls that a server has received so far, in order: dicts with `tool` or `prompt` (the server's own
    /// name) and `args`, or with `resource`, the URI.
    fn calls<'v>(
        this: &SessionValue,
        #[starlark(require = pos)] backend: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        alloc(&this.0.calls_of(backend)?, heap)
    }

    /// Returns the log messages that the client has received so far, from `notify()` and from servers: dicts with
    /// `level`, `data` and, from an extension, `logger`.
    fn notifications<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        alloc(&Json::Array(this.0.user.notifications()), heap)
    }

    /// Returns the elicitations that the user has received so far: dicts with `message` and `schema`, or with `message`
    /// and `url`.
    fn elicitations<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        alloc(&Json::Array(this.0.user.questions()), heap)
    }

    /// Returns what the script and its handlers have logged so far: dicts with `level`, `message`, and the fields.
    fn log<'v>(this: &SessionValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        alloc(&this.0.log.to_json(), heap)
    }
}
