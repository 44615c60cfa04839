//! `bind()`: a tool with some of its parameters filled in.

use serde_json::Value as Json;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::tuple::TupleRef;
use starlark::values::{Value, ValueLike};

use crate::effects::wrapper::Wrapper;
use crate::kinds::noun;
use crate::metadata::Metadata;
use proxy_base::diagnostic::nearest;
use proxy_json::raw;
use proxy_model::ItemKind;
use proxy_script::ScriptError;

#[starlark_module]
pub fn register_bind(builder: &mut GlobalsBuilder) {
    /// Fills in tool parameters: takes a `(metadata, handler)` tuple and returns a new one. The schema no longer lists
    /// the bound parameters, and values that a client sends for them are ignored.
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
        let schema = schema_without(metadata, values.keys().map(String::as_str))?;
        let mut changed = metadata.with(&[("inputSchema", Some(raw(&schema)))])?;
        changed.record_edit(&["inputSchema"], None, eval);
        changed.bound = metadata.bound.iter().cloned().chain(values.keys().cloned()).collect();
        let heap = eval.heap();
        let values = heap.alloc(AllocDict(values.iter().map(|(name, value)| (name.as_str(), *value))));
        Ok(heap.alloc((changed, Wrapper::bind(handler, values))))
    }
}

/// The input schema without the named parameters.
fn schema_without<'a>(metadata: &Metadata, names: impl Iterator<Item = &'a str>) -> Result<Json, ScriptError> {
    let mut schema = metadata.definition.member("inputSchema").unwrap_or_default();
    for name in names {
        let properties = schema.get_mut("properties").and_then(Json::as_object_mut);
        let known: Vec<String> = properties.as_ref().map(|map| map.keys().cloned().collect()).unwrap_or_default();
        if properties.and_then(|properties| properties.shift_remove(name)).is_none() {
            let error = ScriptError::new(format!("the tool `{}` has no parameter `{name}`", metadata.definition.key()));
            return Err(match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if known.is_empty() => error.hint("it has no parameters"),
                None => error.hint(format!("its parameters are {}", known.join(", "))),
            });
        }
        if let Some(required) = schema.get_mut("required").and_then(Json::as_array_mut) {
            required.retain(|entry| entry != name);
        }
    }
    Ok(schema)
}
