//! The constructors `Tool()` and `ToolParameter()`.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value, ValueLike};

use super::parameter::{default_as, defaults_in, schema_of, type_name};
use super::{check, extras};
use crate::extension::values::{Item, ItemData, Parameter};
use proxy_json::raw;
use proxy_model::{Definition, ItemKind};
use proxy_script::{convert, script_error};

#[starlark_module]
pub fn register_tool(builder: &mut GlobalsBuilder) {
    /// Defines a tool. `handler` takes the arguments as one dict. Describe them with `parameters`, or with a JSON
    /// Schema in `input_schema`. The proxy checks the arguments and fills in defaults before the handler runs, and
    /// checks its return value against `output_schema`. `annotations` are MCP hints: `{"readOnlyHint": True}`.
    ///
    /// `icons` is a list of dicts with `src` and optionally `mimeType`, `sizes` and `theme`. `meta` is the `_meta`
    /// dict. `timeout` limits each call, in seconds; `progress()` restarts it, and time spent waiting for an
    /// elicitation does not count. `ui` is the URI of the tool's user interface (MCP Apps): a `Resource` in the same
    /// extension with `mime_type = "text/html;profile=mcp-app"`.
    fn Tool<'v>(
        name: &str,
        description: &str,
        handler: Value<'v>,
        #[starlark(default = NoneOr::None)] parameters: NoneOr<UnpackList<Value<'v>>>,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] annotations: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] output_schema: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] input_schema: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] timeout: NoneOr<UnpackFloat>,
        #[starlark(default = NoneOr::None)] ui: NoneOr<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        let what = format!("the tool `{name}`");
        check::name("tool", name)?;
        check::handler(&what, handler)?;
        let heap = eval.heap();
        let parameters = parameters.into_option().map(|list| list.items).unwrap_or_default();
        let (schema, defaults) = input(&what, &parameters, input_schema.into_option(), heap)?;
        let output_schema = check::dict(&what, "output_schema", output_schema, heap)?;
        let mut members = Map::new();
        members.insert("name".into(), name.into());
        check::text(&mut members, "title", title);
        members.insert("description".into(), description.into());
        members.insert("inputSchema".into(), schema.clone());
        members.extend(output_schema.clone().map(|schema| ("outputSchema".to_owned(), schema)));
        members.extend(
            check::dict(&what, "annotations", annotations, heap)?.map(|hints| ("annotations".to_owned(), hints)),
        );
        extras::add(&what, &mut members, icons, meta, heap)?;
        if let Some(uri) = ui.into_option() {
            extras::add_interface(&what, &mut members, uri)?;
        }
        let definition = Definition::parse(ItemKind::Tool, raw(&members))
            .map_err(|error| script_error(format!("{what}: {error}")))?;
        let output = output_schema.map(|schema| check::schema(&what, &schema).map(Arc::new)).transpose()?;
        let data = ItemData {
            kind: ItemKind::Tool,
            definition: Arc::new(definition),
            input: Some(Arc::new(check::schema(&what, &schema)?)),
            output,
            defaults: Arc::new(defaults),
            template: None,
            timeout: timeout.into_option().map(|seconds| check::seconds(&what, "timeout", seconds)).transpose()?,
            site: None,
            refresh: None,
        };
        Ok(Item { data: heap.alloc(data), handler, complete: Value::new_none() })
    }

    /// Defines a tool parameter. `param_type` is string, integer (int), number (float), boolean (bool), array or
    /// object. A string `default` is converted to this type. For an array, `items` is the item type or schema.
    fn ToolParameter<'v>(
        name: &str,
        param_type: &str,
        #[starlark(default = false)] required: bool,
        #[starlark(default = NoneOr::None)] default: NoneOr<Value<'v>>,
        #[starlark(default = "")] description: &str,
        #[starlark(default = NoneOr::None)] r#enum: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] items: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Parameter> {
        let heap = eval.heap();
        let kind = type_name(param_type)?;
        let mut schema = Map::new();
        schema.insert("type".into(), kind.into());
        if !description.is_empty() {
            schema.insert("description".into(), description.into());
        }
        let default = match default.into_option() {
            Some(value) => Some(default_as(kind, convert::to_json(value, heap)?, name)?),
            None => None,
        };
        if let Some(default) = &default {
            schema.insert("default".into(), default.clone());
        }
        if let Some(choices) = r#enum.into_option() {
            schema.insert("enum".into(), convert::to_json(choices, heap)?);
        }
        if let Some(items) = items.into_option() {
            let items = match items.unpack_str() {
                Some(kind) => json!({"type": type_name(kind)?}),
                None => convert::to_json(items, heap)?,
            };
            schema.insert("items".into(), items);
        }
        Ok(Parameter { name: name.to_owned(), schema: schema.into(), required, default })
    }
}

fn input<'v>(
    what: &str,
    parameters: &[Value<'v>],
    full: Option<Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<(Json, Map<String, Json>)> {
    let Some(full) = full else {
        let parameters: Option<Vec<&Parameter>> = parameters.iter().map(|value| value.downcast_ref()).collect();
        let parameters = parameters
            .ok_or_else(|| script_error(format!("`parameters` of {what} must hold ToolParameter(...) only")))?;
        return schema_of(&parameters).map_err(|error| script_error(format!("{what}: {error}")));
    };
    if !parameters.is_empty() {
        return Err(script_error(format!("{what} has both `parameters` and `input_schema`; use one of them")));
    }
    let mut schema = convert::to_object(full, heap)?
        .ok_or_else(|| script_error(format!("`input_schema` of {what} must be a dict")))?;
    let kind = schema.entry("type").or_insert_with(|| json!("object"));
    if kind != "object" {
        return Err(script_error(format!("`input_schema` of {what} is not an object schema: `type` is {kind}")));
    }
    let schema = Json::Object(schema);
    let defaults = defaults_in(&schema);
    Ok((schema, defaults))
}
