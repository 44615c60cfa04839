//! `Extension()`, `Tool()`, `ToolParameter()`: how an extension describes itself.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::list::{AllocList, UnpackList};
use starlark::values::none::{NoneOr, NoneType};
use starlark::values::{Heap, Value, ValueLike};

use super::parameter::{default_as, defaults_in, schema_of, type_name};
use super::values::{Described, ExtensionData, Parameter, Tool, ToolData};
use crate::json::{Schema, raw};
use crate::model::{Definition, ItemKind};
use crate::script::{Complaint, complain, convert};

#[starlark_module]
pub fn register_extension_types(builder: &mut GlobalsBuilder) {
    /// What `describe_extension()` returns.
    fn Extension<'v>(
        name: &str,
        version: &str,
        #[starlark(default = "")] description: &str,
        #[starlark(default = UnpackList::default())] tools: UnpackList<Value<'v>>,
        resources: Option<Value<'v>>,
        prompts: Option<Value<'v>>,
        allowed_exec: Option<Value<'v>>,
        allowed_hosts: Option<Value<'v>>,
        allowed_env: Option<Value<'v>>,
        allowed_paths: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Described<'v>> {
        refuse("resources", resources)?;
        refuse("prompts", prompts)?;
        refuse("allowed_exec", allowed_exec)?;
        refuse("allowed_hosts", allowed_hosts)?;
        refuse("allowed_env", allowed_env)?;
        refuse("allowed_paths", allowed_paths)?;
        check_name("extension", name)?;
        for tool in &tools.items {
            if Tool::from_value(*tool).is_none() {
                return Err(complain(format!("`tools` holds a `{}`; it must hold Tool(...) only", tool.get_type())));
            }
        }
        let data = ExtensionData { name: name.into(), version: version.into(), description: description.into() };
        let heap = eval.heap();
        Ok(Described { data: heap.alloc(data), tools: heap.alloc(AllocList(tools.items)) })
    }

    /// A tool: `handler` takes one dict, the arguments. They are described by `parameters` or by a full JSON Schema in
    /// `input_schema`, not both.
    fn Tool<'v>(
        name: &str,
        description: &str,
        handler: Value<'v>,
        #[starlark(default = UnpackList::default())] parameters: UnpackList<Value<'v>>,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] annotations: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] output_schema: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] input_schema: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Tool<'v>> {
        check_name("tool", name)?;
        check_handler(name, handler)?;
        let heap = eval.heap();
        let (schema, defaults) = input(name, &parameters.items, input_schema.into_option(), heap)?;
        let mut members = Map::new();
        members.insert("name".into(), name.into());
        if let Some(title) = title.into_option() {
            members.insert("title".into(), title.into());
        }
        members.insert("description".into(), description.into());
        members.insert("inputSchema".into(), schema.clone());
        for (member, value) in [("outputSchema", output_schema), ("annotations", annotations)] {
            if let Some(value) = value.into_option() {
                let object = convert::to_object(value, heap)?
                    .ok_or_else(|| complain(format!("`{member}` of the tool `{name}` must be a dict")))?;
                members.insert(member.into(), object.into());
            }
        }
        let definition = Definition::parse(ItemKind::Tool, raw(&members))
            .map_err(|error| complain(format!("the tool `{name}`: {error}")))?;
        let compiled = Schema::compile(&schema).map_err(|error| complain(format!("the tool `{name}`: {error}")))?;
        let data =
            ToolData { definition: Arc::new(definition), schema: Arc::new(compiled), defaults: Arc::new(defaults) };
        Ok(Tool { data: heap.alloc(data), handler })
    }

    /// One parameter of a tool. `param_type` is string, integer (int), number (float), boolean (bool), array or object;
    /// a default given as text is converted to it.
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

    /// Not supported yet.
    fn Resource<'v>(
        #[starlark(args)] _args: Value<'v>,
        #[starlark(kwargs)] _kwargs: Value<'v>,
    ) -> starlark::Result<NoneType> {
        Err(unsupported("Resource()"))
    }

    /// Not supported yet.
    fn ResourceTemplate<'v>(
        #[starlark(args)] _args: Value<'v>,
        #[starlark(kwargs)] _kwargs: Value<'v>,
    ) -> starlark::Result<NoneType> {
        Err(unsupported("ResourceTemplate()"))
    }

    /// Not supported yet.
    fn Prompt<'v>(
        #[starlark(args)] _args: Value<'v>,
        #[starlark(kwargs)] _kwargs: Value<'v>,
    ) -> starlark::Result<NoneType> {
        Err(unsupported("Prompt()"))
    }
}

fn unsupported(what: &str) -> starlark::Error {
    complain(format!("{what} is not supported yet"))
}

/// An option that does nothing is a trap: only its empty value is taken.
fn refuse(option: &str, given: Option<Value<'_>>) -> starlark::Result<()> {
    match given {
        Some(value) if value.to_bool() => Err(unsupported(&format!("`{option}` of Extension()"))),
        _ => Ok(()),
    }
}

fn check_name(what: &str, name: &str) -> Result<(), Complaint> {
    if crate::builtins::is_plain_name(name) {
        return Ok(());
    }
    Err(Complaint::new(format!("the {what} name {} is not allowed", crate::json::quote(name)))
        .hint("letters, digits, `_`, `.` and `-` only, at most 128 of them"))
}

fn check_handler(name: &str, handler: Value<'_>) -> Result<(), Complaint> {
    let takes_one = handler.parameters_spec().is_none_or(|parameters| parameters.can_fill_with_args(1, &[]));
    if handler.get_type() == "function" && takes_one {
        return Ok(());
    }
    Err(Complaint::new(format!("the handler of the tool `{name}` is not a function of one argument"))
        .hint("a handler takes one dict: `def handler(params): ...`"))
}

fn input<'v>(
    name: &str,
    parameters: &[Value<'v>],
    full: Option<Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<(Json, Map<String, Json>)> {
    let Some(full) = full else {
        let parameters: Option<Vec<&Parameter>> = parameters.iter().map(|value| value.downcast_ref()).collect();
        let parameters = parameters
            .ok_or_else(|| complain(format!("`parameters` of the tool `{name}` must hold ToolParameter(...) only")))?;
        return schema_of(&parameters).map_err(|fault| complain(format!("the tool `{name}`: {fault}")));
    };
    if !parameters.is_empty() {
        return Err(complain(format!("the tool `{name}` has both `parameters` and `input_schema`; give one of them")));
    }
    let mut schema = convert::to_object(full, heap)?
        .ok_or_else(|| complain(format!("`input_schema` of the tool `{name}` must be a dict")))?;
    let kind = schema.entry("type").or_insert_with(|| json!("object"));
    if kind != "object" {
        return Err(complain(format!("`input_schema` of the tool `{name}` is not an object schema: `type` is {kind}")));
    }
    let schema = Json::Object(schema);
    let defaults = defaults_in(&schema);
    Ok((schema, defaults))
}
