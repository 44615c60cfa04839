//! `metadata()`, `resource_metadata()`, `resource_template_metadata()` and `prompt_metadata()`: metadata for items that a
//! script implements itself.
#![expect(clippy::too_many_arguments, reason = "a built-in takes one parameter per argument of the Starlark function")]

use serde_json::{Map, Value as Json};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use super::fields::{field, member};
use super::value::Metadata;
use crate::effects::store_access::seconds;
use crate::kinds::noun;
use proxy_json::raw;
use proxy_model::{Definition, ItemKind, link_interface};
use proxy_script::{ScriptError, script_error};

#[starlark_module]
pub fn register_metadata(builder: &mut GlobalsBuilder) {
    /// Creates metadata for a new tool. `parameters` is the JSON Schema for its arguments (`{}` if it takes none).
    /// `annotations` is a dict of hints like `{"readOnlyHint": True}`. `timeout` limits each client call, in seconds;
    /// `progress()` restarts it. `ui` is the URI of the tool's user interface (MCP Apps); publish it as a resource with
    /// `mime_type = "text/html;profile=mcp-app"`.
    ///
    /// ```python
    /// publish(metadata("ping", "Says pong", {}, {"readOnlyHint": True}), lambda args: "pong")
    /// ```
    fn metadata<'v>(
        name: Value<'v>,
        description: Value<'v>,
        parameters: Value<'v>,
        annotations: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] title: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] output_schema: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] timeout: NoneOr<UnpackFloat>,
        #[starlark(require = named, default = NoneOr::None)] ui: NoneOr<&str>,
        heap: Heap<'v>,
    ) -> starlark::Result<Metadata> {
        let values = [
            ("name", NoneOr::Other(name)),
            ("title", title),
            ("description", NoneOr::Other(description)),
            ("parameters", NoneOr::Other(parameters)),
            ("output_schema", output_schema),
            ("annotations", NoneOr::Other(annotations)),
            ("icons", icons),
            ("meta", meta),
        ];
        let mut members = members(ItemKind::Tool, values, heap)?;
        if let Some(uri) = ui.into_option() {
            link_interface(&mut members, uri).map_err(|(problem, hint)| ScriptError::new(problem).hint(hint))?;
        }
        let timeout = timeout.into_option().map(|timeout| seconds("timeout", timeout.0)).transpose()?;
        Ok(Metadata { timeout, ..parsed(ItemKind::Tool, &members)? })
    }

    /// Creates metadata for a new resource. `size` is in bytes.
    ///
    /// ```python
    /// rules = resource_metadata("team://rules", "rules", mime_type = "text/markdown")
    /// publish_resource(rules, lambda args: "# Rules")
    /// ```
    fn resource_metadata<'v>(
        uri: Value<'v>,
        name: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] title: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] description: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] mime_type: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] size: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] annotations: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Metadata> {
        let values = [
            ("uri", NoneOr::Other(uri)),
            ("name", NoneOr::Other(name)),
            ("title", title),
            ("description", description),
            ("mime_type", mime_type),
            ("size", size),
            ("annotations", annotations),
            ("icons", icons),
            ("meta", meta),
        ];
        make(ItemKind::Resource, values, heap)
    }

    /// Creates metadata for a new resource template, which covers every resource with a matching URI.
    ///
    /// ```python
    /// days = resource_template_metadata("notes://{day}", "notes")
    /// publish_resource_template(days, lambda args: "Notes of " + args["day"])
    /// ```
    fn resource_template_metadata<'v>(
        uri_template: Value<'v>,
        name: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] title: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] description: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] mime_type: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] annotations: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Metadata> {
        let values = [
            ("uri_template", NoneOr::Other(uri_template)),
            ("name", NoneOr::Other(name)),
            ("title", title),
            ("description", description),
            ("mime_type", mime_type),
            ("annotations", annotations),
            ("icons", icons),
            ("meta", meta),
        ];
        make(ItemKind::ResourceTemplate, values, heap)
    }

    /// Creates metadata for a new prompt. `arguments` is a list of dicts with `name` and optionally `title`,
    /// `description` and `required`.
    ///
    /// ```python
    /// review = prompt_metadata("review", "Reviews code", [{"name": "code", "required": True}])
    /// publish_prompt(review, lambda args: "Review this code:\n" + args["code"])
    /// ```
    fn prompt_metadata<'v>(
        name: Value<'v>,
        description: Value<'v>,
        arguments: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] title: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Metadata> {
        let values = [
            ("name", NoneOr::Other(name)),
            ("title", title),
            ("description", NoneOr::Other(description)),
            ("arguments", NoneOr::Other(arguments)),
            ("icons", icons),
            ("meta", meta),
        ];
        make(ItemKind::Prompt, values, heap)
    }
}

/// Builds metadata from values by field name.
fn make<'v, const N: usize>(
    kind: ItemKind,
    values: [(&str, NoneOr<Value<'v>>); N],
    heap: Heap<'v>,
) -> starlark::Result<Metadata> {
    parsed(kind, &members(kind, values, heap)?)
}

/// The members of a definition from values by field name.
fn members<'v, const N: usize>(
    kind: ItemKind,
    values: [(&str, NoneOr<Value<'v>>); N],
    heap: Heap<'v>,
) -> starlark::Result<Map<String, Json>> {
    let mut members = Map::new();
    for (name, value) in values {
        let (field, Some(value)) = (field(kind, name)?, value.into_option()) else { continue };
        if let Some(json) = member(field, value, heap)? {
            members.insert(field.member.to_owned(), json);
        }
    }
    Ok(members)
}

fn parsed(kind: ItemKind, members: &Map<String, Json>) -> starlark::Result<Metadata> {
    let definition = Definition::parse(kind, raw(members))
        .map_err(|error| script_error(format!("invalid {} metadata: {error}", noun(kind))))?;
    Ok(Metadata::of_script(kind, definition))
}
