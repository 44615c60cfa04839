//! The handler of a backend's tool, resource, resource template or prompt: a function that scripts can call.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::float::UnpackFloat;
use starlark::values::{
    NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, ValueLike, starlark_value,
};

use crate::effects::store_access::seconds;
use crate::kinds::noun;
use proxy_json::Raw;
use proxy_model::ItemRef;
use proxy_script::{CallOptions, Context, Relay, ScriptError, convert, script_error};

#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct BackendHandler {
    #[allocative(skip)]
    pub target: ItemRef,
}

starlark_simple_value!(BackendHandler);

impl fmt::Display for BackendHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<handler of {}.{}>", self.target.backend, self.target.name)
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for BackendHandler {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<BackendHandler>().is_some_and(|other| other.target == self.target))
    }

    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        format!("{}.{}", self.target.backend, self.target.name)
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let (noun, name) = (noun(self.target.kind), &self.target.name);
        let context = Context::of(eval)?;
        if context.host.is_none() {
            context.host_for(&format!("calling the {noun} `{name}`"))?;
        }
        let positional: Vec<Value<'v>> = arguments.positions(heap)?.collect();
        let [dict] = positional[..] else {
            return Err(ScriptError::new(format!(
                "the {noun} `{name}` takes one argument, a dict; {} given",
                positional.len()
            ))
            .hint("write `call({\"key\": value})`")
            .into());
        };
        let options = CallOptions { via: context.via(), ..options(noun, arguments)? };
        self.call(dict, options, eval)
    }
}

impl BackendHandler {
    /// Calls the item with a dict.
    pub(crate) fn call<'v>(
        &self,
        dict: Value<'v>,
        options: CallOptions,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let result = self.call_for_text(dict, options, eval)?;
        convert::text_to_starlark(result.get(), eval.heap()).map_err(|error| {
            let name = &self.target.name;
            script_error(format!("the result of `{name}` cannot be converted to a Starlark value: {error}"))
        })
    }

    /// Calls the item with a dict, and returns the result as JSON.
    pub(crate) fn call_for_text<'v>(
        &self,
        dict: Value<'v>,
        options: CallOptions,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Arc<Raw>> {
        let (heap, context) = (eval.heap(), Context::of(eval)?);
        let (noun, name) = (noun(self.target.kind), &self.target.name);
        let members = convert::to_object(dict, heap)
            .map_err(|error| script_error(format!("the arguments of `{name}` cannot be converted to JSON: {error}")))?
            .ok_or_else(|| script_error(format!("the {noun} `{name}` takes a dict, not a `{}`", dict.get_type())))?;
        let arguments = proxy_json::raw(&members);
        let request = [&*self.target.backend, &*self.target.name, arguments.get()];
        context.nested("call", &request, |host, cursor| {
            host.effects.call(&self.target, &arguments, options, cursor).map(Ok)
        })
    }
}

/// The named arguments `timeout` and `relay`.
fn options(noun: &str, arguments: &Arguments<'_, '_>) -> starlark::Result<CallOptions> {
    let mut options = CallOptions::default();
    for (name, value) in arguments.names_map()? {
        match name.as_str() {
            "timeout" if value.is_none() => {}
            "timeout" => {
                let number = UnpackFloat::unpack_value(value)?.map_or(0.0, |seconds| seconds.0);
                options.timeout = Some(seconds("timeout", number)?);
            }
            "relay" => {
                let relay = value.unpack_bool().ok_or_else(|| {
                    ScriptError::new(format!("`relay` must be True or False, not a `{}`", value.get_type()))
                        .hint("`relay = False` keeps the server's progress and log messages from the client")
                })?;
                options.relay = if relay { Relay::ProgressAndLog } else { Relay::Nothing };
            }
            other => {
                return Err(ScriptError::new(format!("a {noun} takes no argument named `{other}`"))
                    .hint("pass its own arguments in the dict; the named arguments are `timeout`, in seconds, and `relay`")
                    .into());
            }
        }
    }
    Ok(options)
}
