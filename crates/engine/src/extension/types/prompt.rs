//! The constructors `Prompt()` and `PromptArgument()`.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value, ValueLike};

use super::{check, extras};
use crate::extension::values::{Argument, Item, ItemData};
use proxy_json::raw;
use proxy_model::{Definition, ItemKind};
use proxy_script::{convert, script_error};

#[starlark_module]
pub fn register_prompts(builder: &mut GlobalsBuilder) {
    /// Defines a prompt. `handler` takes the arguments as one dict (all values are strings) and returns a string or an
    /// MCP result `{"messages": [...]}`. `arguments` is a list of `PromptArgument(...)` values, dicts with `name`,
    /// `description` and `required`, or plain names. `icons` and `meta` are as for `Tool`.
    ///
    /// `complete` maps argument names to completion functions. `function(value, context)` takes the typed text and a
    /// dict with the arguments filled in so far, and returns a list of strings. Clients receive the first 100 and the
    /// total number. A completion function may run for 2 seconds and cannot use elicitation.
    ///
    /// ```python
    /// cities = ["Bern", "Berlin", "Bonn"]
    /// trip = Prompt(
    ///     name = "trip",
    ///     handler = lambda params: "Plan a trip to " + params["city"],
    ///     arguments = [PromptArgument(name = "city", required = True)],
    ///     complete = {"city": lambda value, context: [city for city in cities if city.startswith(value)]},
    /// )
    /// ```
    fn Prompt<'v>(
        name: &str,
        handler: Value<'v>,
        #[starlark(default = NoneOr::None)] arguments: NoneOr<UnpackList<Value<'v>>>,
        #[starlark(default = NoneOr::None)] description: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] complete: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        let what = format!("the prompt `{name}`");
        check::name("prompt", name)?;
        check::handler(&what, handler)?;
        let heap = eval.heap();
        let values = arguments.into_option().map(|list| list.items).unwrap_or_default();
        let arguments: Vec<Json> =
            values.iter().map(|value| argument(&what, *value, heap)).collect::<Result<_, _>>()?;
        let mut members = Map::new();
        members.insert("name".into(), name.into());
        check::text(&mut members, "title", title);
        check::text(&mut members, "description", description);
        let schema = schema(&what, &arguments)?;
        members.insert("arguments".into(), arguments.into());
        extras::add(&what, &mut members, icons, meta, heap)?;
        let definition = Definition::parse(ItemKind::Prompt, raw(&members))
            .map_err(|error| script_error(format!("{what}: {error}")))?;
        let definition = Arc::new(definition);
        let data = ItemData {
            kind: ItemKind::Prompt,
            definition: Arc::clone(&definition),
            input: Some(Arc::new(check::schema(&what, &schema)?)),
            output: None,
            defaults: Arc::default(),
            template: None,
            timeout: None,
            refresh: None,
            site: check::complete(ItemKind::Prompt, &definition, complete, eval)?,
        };
        let complete = complete.into_option().unwrap_or_else(Value::new_none);
        Ok(Item { data: heap.alloc(data), handler, complete })
    }

    /// Defines a prompt argument.
    fn PromptArgument(
        name: &str,
        #[starlark(default = "")] description: &str,
        #[starlark(default = false)] required: bool,
    ) -> starlark::Result<Argument> {
        let mut definition = json!({"name": name, "required": required});
        if !description.is_empty() {
            definition["description"] = description.into();
        }
        Ok(Argument { definition })
    }
}

fn argument<'v>(what: &str, value: Value<'v>, heap: Heap<'v>) -> starlark::Result<Json> {
    if let Some(argument) = value.downcast_ref::<Argument>() {
        return Ok(argument.definition.clone());
    }
    if let Some(name) = value.unpack_str() {
        return Ok(json!({"name": name, "required": false}));
    }
    let wrong =
        || script_error(format!("`arguments` of {what} must hold PromptArgument(...), dicts with a `name`, or names"));
    let members = convert::to_object(value, heap)?.filter(|members| members.get("name").is_some_and(Json::is_string));
    members.map(Json::Object).ok_or_else(wrong)
}

/// The schema of the arguments: MCP allows only strings.
fn schema(what: &str, arguments: &[Json]) -> starlark::Result<Json> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for argument in arguments {
        let name = argument["name"].as_str().unwrap_or_default();
        if properties.insert(name.to_owned(), json!({"type": "string"})).is_some() {
            return Err(script_error(format!("{what} has two arguments `{name}`")));
        }
        if argument["required"] == true {
            required.push(name);
        }
    }
    Ok(json!({"type": "object", "properties": properties, "required": required}))
}
