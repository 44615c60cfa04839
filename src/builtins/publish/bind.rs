//! `bind()`: a tool with some of its parameters filled in.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;

use allocative::Allocative;
use serde_json::Value as Json;
use starlark::coerce::Coerce;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::dict::{AllocDict, Dict, DictRef};
use starlark::values::tuple::TupleRef;
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkValue, Trace, Value, ValueLifetimeless,
    ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_module};

use crate::builtins::effects::wrapper::Given;
use crate::builtins::metadata::Metadata;
use crate::builtins::metadata::kinds::noun;
use crate::diagnostic::nearest;
use crate::json::raw;
use crate::model::ItemKind;
use crate::script::{ScriptError, script_error};

/// A handler that puts its values over what it is called with.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct BoundGen<V: ValueLifetimeless> {
    handler: V,
    /// A dict.
    values: V,
}

starlark_complex_value!(pub Bound);

impl<V: ValueLifetimeless> fmt::Display for BoundGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<bound {}>", self.handler)
    }
}

#[starlark_value(type = "function")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for BoundGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        "bind".to_owned()
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let given = Given::of("a bound tool", arguments, eval)?;
        let mut merged: SmallMap<Value<'v>, Value<'v>> = SmallMap::new();
        for values in [given.arguments, self.values.to_value()] {
            let values =
                DictRef::from_value(values).ok_or_else(|| script_error("a bound tool takes one argument, a dict"))?;
            for (key, value) in values.iter_hashed() {
                merged.insert_hashed(key, value);
            }
        }
        given.pass_on(self.handler.to_value(), heap.alloc(Dict::new(merged)), eval)
    }
}

#[starlark_module]
pub fn register_bind(builder: &mut GlobalsBuilder) {
    /// From a `(metadata, handler)` tuple a new one with those parameters filled in: they are gone from the schema, and
    /// a value that the client sends for them all the same is dropped.
    ///
    /// ```python
    /// publish(*bind(tool, repo = "octo/hello"))
    /// ```
    fn bind<'v>(
        #[starlark(require = pos)] tool: Value<'v>,
        #[starlark(kwargs)] values: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let pair = TupleRef::from_value(tool).map(TupleRef::content);
        let (metadata, handler) = match pair {
            Some([metadata, handler]) => (metadata.downcast_ref::<Metadata>(), *handler),
            _ => (None, tool),
        };
        let metadata = metadata.ok_or_else(|| {
            ScriptError::new("the first argument of bind() must be a tuple of metadata and handler")
                .hint("`bind((meta, call), key = value)`")
        })?;
        if metadata.kind != ItemKind::Tool {
            let (noun, name) = (noun(metadata.kind), metadata.definition.key());
            return Err(ScriptError::new(format!("bind() fills in the parameters of a tool; `{name}` is a {noun}"))
                .hint("wrap its handler in a function instead")
                .into());
        }
        let schema = without(metadata, values.keys().map(String::as_str))?;
        let changed = metadata.with(&[("inputSchema", Some(raw(&schema)))])?;
        let heap = eval.heap();
        let values = heap.alloc(AllocDict(values.iter().map(|(name, value)| (name.as_str(), *value))));
        Ok(heap.alloc((changed, Bound { handler, values })))
    }
}

/// The schema without those parameters.
fn without<'a>(metadata: &Metadata, names: impl Iterator<Item = &'a str>) -> Result<Json, ScriptError> {
    let mut schema = metadata.definition.member("inputSchema").unwrap_or_default();
    for name in names {
        let properties = schema.get_mut("properties").and_then(Json::as_object_mut);
        let known: Vec<String> = properties.as_ref().map(|map| map.keys().cloned().collect()).unwrap_or_default();
        if properties.and_then(|properties| properties.shift_remove(name)).is_none() {
            let complaint =
                ScriptError::new(format!("the tool `{}` has no parameter `{name}`", metadata.definition.key()));
            return Err(match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => complaint.hint(format!("did you mean `{near}`?")),
                None if known.is_empty() => complaint.hint("it has no parameters"),
                None => complaint.hint(format!("its parameters are {}", known.join(", "))),
            });
        }
        if let Some(required) = schema.get_mut("required").and_then(Json::as_array_mut) {
            required.retain(|entry| entry != name);
        }
    }
    Ok(schema)
}
