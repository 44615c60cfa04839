//! `testing.advance`, `testing.http`, `testing.exec`: the clock, the network and the commands of a test.
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

use super::exchange;
use super::mocks::{Answers, Part, Says};
use super::world::TestWorld;
use crate::script::{convert, script_error};

/// What `testing.http` and `testing.exec` return.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct StandIn {
    #[allocative(skip)]
    world: Arc<TestWorld>,
    #[allocative(skip)]
    part: Part,
}

starlark_simple_value!(StandIn);

impl fmt::Debug for StandIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for StandIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}>", self.part.function())
    }
}

starlark::methods_static!(STAND_IN_METHODS = stand_in_members);

#[starlark_value(type = "stand_in")]
impl<'v> StarlarkValue<'v> for StandIn {
    fn get_methods() -> Option<&'static Methods> {
        Some(STAND_IN_METHODS.methods())
    }
}

/// What answers in place of the network, or of commands.
#[starlark_module]
fn stand_in_members(builder: &mut MethodsBuilder) {
    /// What was asked for so far: of HTTP dicts with `method`, `url`, `params`, `headers` and the body under the name it
    /// was given by; of commands dicts with `command`, `args`, `stdin`, `cwd` and `env`.
    fn requests<'v>(this: &StandIn, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(convert::to_starlark(&Json::Array(this.world.stand_ins.requests(this.part)), heap)?)
    }
}

pub(super) fn documented() -> starlark::docs::DocType {
    starlark::docs::DocType::from_starlark_value::<StandIn>()
}

fn stand_in<'v>(part: Part, rules: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<StandIn> {
    let world = Arc::clone(TestWorld::of(eval, part.function())?);
    let wrong = || script_error(format!("{} takes a dict from what is asked for to what is answered", part.function()));
    let entries: Vec<(Value<'v>, Value<'v>)> = DictRef::from_value(rules).ok_or_else(wrong)?.iter().collect();
    let mut checked = Vec::new();
    for (pattern, answer) in entries {
        let pattern = pattern.unpack_str().ok_or_else(wrong)?.to_owned();
        let answers = match ListRef::from_value(answer).map(|answers| answers.iter().collect::<Vec<_>>()) {
            None => Answers::Always(says(part, answer, &world, eval)?),
            Some(answers) => {
                let answers = answers.into_iter().map(|answer| says(part, answer, &world, eval));
                Answers::InTurn(answers.collect::<starlark::Result<_>>()?)
            }
        };
        checked.push((pattern, answers));
    }
    world.stand_ins.add(part, checked);
    Ok(StandIn { world, part })
}

fn says<'v>(
    part: Part,
    answer: Value<'v>,
    world: &TestWorld,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Says> {
    if answer.get_type() == "function" {
        return Ok(Says::Function(exchange::keep(world, answer, eval)?));
    }
    let value = convert::to_json(answer, eval.heap())?;
    part.check(&value).map_err(script_error)?;
    Ok(Says::Value(value))
}

#[starlark_module]
pub(super) fn register_world(builder: &mut GlobalsBuilder) {
    /// Moves the clock of the test forward. It stands still otherwise: rate limits fill again, and what was kept for some
    /// time is forgotten, only by this and by `sleep()`, which takes no time in a test.
    fn advance(seconds: UnpackFloat, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<NoneType> {
        let world = TestWorld::of(eval, "testing.advance()")?;
        let by = Duration::try_from_secs_f64(seconds.0)
            .map_err(|_| script_error("the clock can be moved by a number of seconds, and only forward"))?;
        world.clock.advance(by);
        Ok(NoneType)
    }

    /// Answers for the network from now on, in this test: a dict from what is asked for (`"https://host/path"` or
    /// `"POST https://host/path"`, with `*` and `?` for what may vary) to what is answered: a dict with `status_code` (200),
    /// `json` or `body`, and `headers`; or text, the body; or a function of the request (a dict as in `.requests()`) that
    /// returns one of these; or a list of all that, each used once, in order. `{"error": TEXT}` is a request that fails.
    ///
    /// A request for which there is no rule fails the test; one that `allowed_hosts` of the extension does not allow is
    /// refused as it would be without a test. `.requests()` of the result is what was asked for.
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
    ) -> starlark::Result<StandIn> {
        stand_in(Part::Http, rules, eval)
    }

    /// Answers for commands from now on, in this test: a dict from the command with its arguments, separated by spaces
    /// (`"git log *"`), to what is answered: a dict with `stdout`, `stderr`, `exit_code` (0) and `timed_out`; or text, the
    /// standard output; or a function of the command (a dict as in `.requests()`) that returns one of these; or a list of
    /// all that, each used once, in order. `{"error": TEXT}` is a command that cannot be run.
    ///
    /// A command for which there is no rule fails the test; one that `allowed_exec` of the extension does not name is refused
    /// as it would be without a test. `.requests()` of the result is what was asked for.
    fn exec<'v>(
        #[starlark(require = pos)] rules: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<StandIn> {
        stand_in(Part::Exec, rules, eval)
    }
}
