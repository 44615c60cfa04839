//! The functions of a sandboxed script besides the pure built-ins: its tools, `call_tool`, `search_tools`, `parallel`
//! and `print`.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;

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

use super::world::BranchWorld;
use crate::sandbox::protocol::WorkerRequest;
use proxy_json::Raw;
use proxy_model::payload;
use proxy_script::{ScriptError, convert, script_error};

/// A tool as a Starlark function.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct ToolValue {
    pub(super) name: String,
}

starlark_simple_value!(ToolValue);

impl fmt::Display for ToolValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<tool {}>", self.name)
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for ToolValue {
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
            _ => return Err(self.not_named()),
        };
        for (name, value) in arguments.names_map()? {
            let json = convert::to_json(value, heap)
                .map_err(|error| script_error(format!("`{}` of `{}`: {error}", name.as_str(), self.name)))?;
            members.insert(name.as_str().to_owned(), json);
        }
        call(&self.name, members, eval)
    }
}

impl ToolValue {
    fn members<'v>(&self, dict: Value<'v>, heap: Heap<'v>) -> starlark::Result<Map<String, Json>> {
        let members = convert::to_object(dict, heap).map_err(|error| {
            script_error(format!("the arguments of `{}` cannot be converted to JSON: {error}", self.name))
        })?;
        members.ok_or_else(|| self.not_named())
    }

    fn not_named(&self) -> starlark::Error {
        ScriptError::new(format!("`{}` takes named arguments only", self.name))
            .hint("write `tool(name = value)`, or `call_tool(\"tool\", {\"name\": value})`")
            .into()
    }
}

/// Calls a tool and returns the payload of its result; an error result is raised.
fn call<'v>(tool: &str, arguments: Map<String, Json>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let request = WorkerRequest::Call { tool: tool.to_owned(), arguments: proxy_json::raw(&arguments) };
    let result = BranchWorld::of(eval)?.ask(request);
    let members: Map<String, Json> =
        serde_json::from_str(result.get()).map_err(|_| script_error(format!("`{tool}`: invalid result")))?;
    let data = members.get("structuredContent").filter(|data| !data.is_null()).map(Json::to_string);
    let value = payload(members).map_err(|reason| {
        // A script may act on the structured part of an error, such as how long to wait.
        let data = data.filter(|data| !reason.contains(data)).map(|data| format!(" {data}")).unwrap_or_default();
        script_error(format!("`{tool}`: {reason}{data}"))
    })?;
    Ok(convert::to_starlark(&value, eval.heap())?)
}

#[starlark_module]
pub(super) fn register(builder: &mut GlobalsBuilder) {
    /// Calls a tool by its name with a dict of arguments and returns the payload of its result; an error is raised.
    fn call_tool<'v>(
        name: &str,
        args: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let tool = ToolValue { name: name.to_owned() };
        let members = args.map_or_else(|| Ok(Map::new()), |args| tool.members(args, eval.heap()))?;
        call(name, members, eval)
    }

    /// Returns the tools that match a description best: a list of dicts with `name`, `description` and `signature`.
    fn search_tools<'v>(
        query: &str,
        #[starlark(default = 8)] limit: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let limit =
            usize::try_from(limit).map_err(|_| script_error(format!("`limit` must be 0 or more, not {limit}")))?;
        let found: Raw = BranchWorld::of(eval)?.ask(WorkerRequest::Search { query: query.to_owned(), limit });
        Ok(convert::text_to_starlark(found.get(), eval.heap())?)
    }

    /// Calls functions without arguments concurrently and returns their results in order. The first error is raised when
    /// all have ended.
    fn parallel<'v>(
        #[starlark(require = pos)] callables: Value<'v>,
        #[starlark(default = 10)] limit: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        let limit = limit.ok_or_else(|| script_error("`limit` must be 1 or more"))?;
        let callables: Vec<Value<'v>> = callables.iterate(eval.heap())?.collect();
        if let Some(wrong) = callables.iter().find(|callable| callable.get_type() != "function") {
            return Err(ScriptError::new(format!("parallel() takes functions; one is a `{}`", wrong.get_type()))
                .hint("write `lambda: tool(name = value)`, which is a function, instead of `tool(name = value)`")
                .into());
        }
        let results = BranchWorld::of(eval)?.parallel(callables, limit, eval)?;
        Ok(eval.heap().alloc(results))
    }

    /// Prints a line, which is returned to the model together with the result.
    fn print<'v>(
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let words: Vec<String> = arguments.items.iter().map(|value| value.to_str()).collect();
        BranchWorld::of(eval)?.print(&words.join(sep));
        Ok(NoneType)
    }
}
