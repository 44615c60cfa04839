//! `testing.advance`, `testing.http` and `testing.exec`: control of the clock, the network and commands.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use allocative::Allocative;
use serde_json::Value as Json;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::dict::DictRef;
use starlark::values::float::UnpackFloat;
use starlark::values::list::ListRef;
use starlark::values::none::NoneType;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use crate::testing::world::{MockReply, MockedEffect, ReplySequence, TestWorld, current_world};
use proxy_script::{convert, script_error};

/// The value that `testing.http` and `testing.exec` return.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct MockValue {
    #[allocative(skip)]
    world: Arc<TestWorld>,
    #[allocative(skip)]
    effect: MockedEffect,
}

starlark_simple_value!(MockValue);

impl fmt::Debug for MockValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for MockValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}>", self.effect.function())
    }
}

starlark::methods_static!(MOCK_METHODS = mock_members);

#[starlark_value(type = "mock")]
impl<'v> StarlarkValue<'v> for MockValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(MOCK_METHODS.methods())
    }
}

/// A mock of the network, or of commands.
#[starlark_module]
fn mock_members(builder: &mut MethodsBuilder) {
    /// The requests so far. HTTP: dicts with `method`, `url`, `params`, `headers`, and the body under the name of the
    /// argument that passed it. Commands: dicts with `command`, `args`, `stdin`, `cwd` and `env`.
    fn requests<'v>(this: &MockValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(convert::to_starlark(&Json::Array(this.world.mocks.requests(this.effect)), heap)?)
    }
}

pub(super) fn documented() -> starlark::docs::DocType {
    starlark::docs::DocType::from_starlark_value::<MockValue>()
}

fn mock<'v>(effect: MockedEffect, rules: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<MockValue> {
    let world = Arc::clone(current_world(eval, effect.function())?);
    let invalid = || script_error(format!("{} takes a dict of request patterns and replies", effect.function()));
    let entries: Vec<(Value<'v>, Value<'v>)> = DictRef::from_value(rules).ok_or_else(invalid)?.iter().collect();
    let mut checked = Vec::new();
    for (pattern, reply) in entries {
        let pattern = pattern.unpack_str().ok_or_else(invalid)?.to_owned();
        let replies = match ListRef::from_value(reply).map(|replies| replies.iter().collect::<Vec<_>>()) {
            None => ReplySequence::Always(mock_reply(effect, reply, &world, eval)?),
            Some(replies) => {
                let replies = replies.into_iter().map(|reply| mock_reply(effect, reply, &world, eval));
                ReplySequence::Once(replies.collect::<starlark::Result<_>>()?)
            }
        };
        checked.push((pattern, replies));
    }
    world.mocks.add(effect, checked);
    Ok(MockValue { world, effect })
}

fn mock_reply<'v>(
    effect: MockedEffect,
    reply: Value<'v>,
    world: &TestWorld,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<MockReply> {
    if reply.get_type() == "function" {
        return Ok(MockReply::Function(world.exchange.register(reply, eval)?));
    }
    let value = convert::to_json(reply, eval.heap())?;
    effect.check(&value).map_err(script_error)?;
    Ok(MockReply::Value(value))
}

#[starlark_module]
pub(super) fn register_mocks(builder: &mut GlobalsBuilder) {
    /// Advances the test clock. The clock does not move on its own: rate limits refill and stored values expire only
    /// through `testing.advance()` and `sleep()`, which advances the clock instead of waiting.
    fn advance(seconds: UnpackFloat, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<NoneType> {
        let world = current_world(eval, "testing.advance()")?;
        let by = Duration::try_from_secs_f64(seconds.0)
            .map_err(|_| script_error("testing.advance() takes a finite number of seconds that is not negative"))?;
        world.clock.advance(by);
        Ok(NoneType)
    }

    /// Mocks the network for the rest of the test. `rules` maps requests (`"https://host/path"` or
    /// `"POST https://host/path"`, with `*` and `?` as wildcards) to replies. A reply is a dict with `status_code`
    /// (default 200), `json`, `body` or `body_base64`, and `headers`; a string, the body; or a function that takes the
    /// request (a dict as in `.requests()`) and returns either. A list of replies is used up in order.
    /// `{"error": TEXT}` makes the request fail.
    ///
    /// A request without a matching rule fails the test. The extension's `allowed_hosts` applies as usual. Call
    /// `.requests()` on the result to list the requests so far.
    ///
    /// ```python
    /// net = testing.http({
    ///     "https://api.example.com/users/*": {"json": {"name": "Ann"}},
    ///     "POST https://api.example.com/users": lambda request: {"status_code": 201, "json": request["json_body"]},
    /// })
    /// ```
    fn http<'v>(
        #[starlark(require = pos)] rules: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<MockValue> {
        mock(MockedEffect::Http, rules, eval)
    }

    /// Mocks commands (from `exec.run()` and `command()`) for the rest of the test. `rules` maps commands with their
    /// arguments, separated by spaces (`"git log *"`, with `*` and `?` as wildcards), to replies. A reply is a dict
    /// with `stdout` or `stdout_base64`, `stderr`, `exit_code` (default 0) and `timed_out`; a string, the standard
    /// output; or a function that takes the command (a dict as in `.requests()`) and returns either. A list of replies
    /// is used up in order. `{"error": TEXT}` makes the command fail to start.
    ///
    /// A command without a matching rule fails the test. The extension's `allowed_exec` applies as usual. Call
    /// `.requests()` on the result to list the commands so far.
    fn exec<'v>(
        #[starlark(require = pos)] rules: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<MockValue> {
        mock(MockedEffect::Exec, rules, eval)
    }
}
