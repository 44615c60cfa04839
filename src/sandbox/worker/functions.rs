//! What a script can call beside the pure built-ins: its tools, in several ways, and `print`.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allocative::Allocative;
use serde_json::{Map, Value as Json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use super::branches;
use super::line::Line;
use super::link::Link;
use crate::json::Raw;
use crate::model::payload;
use crate::sandbox::message::{MOST_BRANCHES, WorkerRequest};
use crate::script::{Context, ScriptError, convert, script_error};

/// Branches of branches, and so on.
const DEEPEST: usize = 8;

/// What the functions of one script share.
pub(super) struct Board {
    pub(super) link: Arc<Link>,
    pub(super) branches: usize,
    pub(super) forked: AtomicUsize,
}

impl Board {
    /// Counts branches before they begin.
    fn fork(&self, count: usize) -> starlark::Result<()> {
        if Line::depth() >= DEEPEST {
            return Err(script_error(format!("`parallel` stands inside of itself more than {DEEPEST} times")));
        }
        let forked = self.forked.fetch_add(count, Ordering::Relaxed);
        if forked.saturating_add(count) > MOST_BRANCHES {
            return Err(script_error(format!("a script may have {MOST_BRANCHES} branches of `parallel`, all in all")));
        }
        Ok(())
    }

    fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Board> {
        Context::of(eval)?.world().ok_or_else(|| script_error("this function works in scripts of code mode only"))
    }
}

/// A tool as a function of its own.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct Tool {
    pub(super) name: String,
}

starlark_simple_value!(Tool);

impl fmt::Display for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<tool {}>", self.name)
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for Tool {
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        self.name.clone()
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let positional: Vec<Value<'v>> = arguments.positions(heap)?.collect();
        let mut members = match positional[..] {
            [] => Map::new(),
            [dict] => self.members(dict, heap)?,
            _ => return Err(self.by_name()),
        };
        for (name, value) in arguments.names_map()? {
            let json = convert::to_json(value, heap)
                .map_err(|error| script_error(format!("`{}` of `{}`: {error}", name.as_str(), self.name)))?;
            members.insert(name.as_str().to_owned(), json);
        }
        call(&self.name, members, eval)
    }
}

impl Tool {
    fn members<'v>(&self, dict: Value<'v>, heap: Heap<'v>) -> starlark::Result<Map<String, Json>> {
        let members = convert::to_object(dict, heap)
            .map_err(|error| script_error(format!("the arguments of `{}` cannot become JSON: {error}", self.name)))?;
        members.ok_or_else(|| self.by_name())
    }

    fn by_name(&self) -> starlark::Error {
        ScriptError::new(format!("the arguments of `{}` go by name", self.name))
            .hint("write `tool(name = value)`, or `call_tool(\"tool\", {\"name\": value})`")
            .into()
    }
}

/// Calls a tool, and gives what its result holds; an error result is raised.
fn call<'v>(tool: &str, arguments: Map<String, Json>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let want = WorkerRequest::Call { tool: tool.to_owned(), arguments: crate::json::raw(&arguments) };
    let result = Board::of(eval)?.link.ask(want);
    let members: Map<String, Json> =
        serde_json::from_str(result.get()).map_err(|_| script_error(format!("`{tool}` gave no result")))?;
    let data = members.get("structuredContent").filter(|data| !data.is_null()).map(Json::to_string);
    let value = payload(members).map_err(|reason| {
        // A script may act on what comes beside the words, such as how long to wait.
        let data = data.filter(|data| !reason.contains(data)).map(|data| format!(" {data}")).unwrap_or_default();
        script_error(format!("`{tool}`: {reason}{data}"))
    })?;
    Ok(convert::to_starlark(&value, eval.heap())?)
}

#[starlark_module]
pub(super) fn register(builder: &mut GlobalsBuilder) {
    /// Calls a tool by its name with a dict of arguments, and gives what its result holds; an error is raised.
    fn call_tool<'v>(
        name: &str,
        args: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let tool = Tool { name: name.to_owned() };
        let members = args.map_or_else(|| Ok(Map::new()), |args| tool.members(args, eval.heap()))?;
        call(name, members, eval)
    }

    /// The tools that fit a description best: a list of dicts with `name`, `description` and `signature`.
    fn search_tools<'v>(
        query: &str,
        #[starlark(default = 8)] limit: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let board = Board::of(eval)?;
        let limit =
            usize::try_from(limit).map_err(|_| script_error(format!("`limit` must be 0 or more, not {limit}")))?;
        let found: Raw = board.link.ask(WorkerRequest::Search { query: query.to_owned(), limit });
        Ok(convert::text_to_starlark(found.get(), eval.heap())?)
    }

    /// Calls functions without arguments at the same time; their results in order. The first error is raised when all
    /// have ended.
    fn parallel<'v>(
        #[starlark(require = pos)] callables: Value<'v>,
        #[starlark(default = 10)] limit: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        let limit = limit.ok_or_else(|| script_error("`limit` must be 1 or more"))?;
        let board = Board::of(eval)?;
        let callables: Vec<Value<'v>> = callables.iterate(eval.heap())?.collect();
        if let Some(wrong) = callables.iter().find(|callable| callable.get_type() != "function") {
            return Err(ScriptError::new(format!("parallel() takes functions; one is a `{}`", wrong.get_type()))
                .hint("write `lambda: tool(name = value)`, which is a function, and not `tool(name = value)`")
                .into());
        }
        board.fork(callables.len())?;
        let results = branches::run(&callables, limit.min(board.branches), &board.link, eval)?;
        Ok(eval.heap().alloc(results))
    }

    /// Adds a line to what is printed, which comes back beside the result.
    fn print<'v>(
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let words: Vec<String> = arguments.items.iter().map(|value| value.to_str()).collect();
        Board::of(eval)?.link.print(&words.join(sep));
        Ok(NoneType)
    }
}
