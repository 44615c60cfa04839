//! The fields of metadata: their names in scripts and in the protocol, their types, and the kinds of item that have them.

use serde_json::{Value as Json, json};
use starlark::values::{Heap, Value};

use crate::kinds::noun;
use proxy_base::diagnostic::nearest;
use proxy_model::ItemKind;
use proxy_script::{ScriptError, convert, script_error};

pub(crate) struct Field {
    /// The name in scripts.
    pub name: &'static str,
    /// The member of the item's JSON object.
    pub member: &'static str,
    pub kind: FieldKind,
    /// The kinds of item that have the field.
    pub item_kinds: &'static [ItemKind],
    /// Documentation for the reference. A field that not all kinds have continues a sentence and begins in lower case.
    pub documentation: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Name,
    Text,
    /// Text whose member is written even if it is empty.
    Prose,
    Schema,
    Object,
    ObjectOrNone,
    List,
    /// The arguments of a prompt: a list of dicts with names.
    Arguments,
    SizeOrNone,
}

const ALL: &[ItemKind] = &ItemKind::ALL;
const TOOL: &[ItemKind] = &[ItemKind::Tool];
const PROMPT: &[ItemKind] = &[ItemKind::Prompt];
const RESOURCE: &[ItemKind] = &[ItemKind::Resource];
const TEMPLATE: &[ItemKind] = &[ItemKind::ResourceTemplate];
const RESOURCES: &[ItemKind] = &[ItemKind::Resource, ItemKind::ResourceTemplate];
const ANNOTATED: &[ItemKind] = &[ItemKind::Tool, ItemKind::Resource, ItemKind::ResourceTemplate];
/// The kinds of item that are identified by name, and therefore have `original_name`.
pub(crate) const NAMED: &[ItemKind] = &[ItemKind::Tool, ItemKind::Prompt];

pub(crate) const FIELDS: [Field; 13] = [
    Field {
        name: "uri",
        member: "uri",
        kind: FieldKind::Name,
        item_kinds: RESOURCE,
        documentation: "the published URI.",
    },
    Field {
        name: "uri_template",
        member: "uriTemplate",
        kind: FieldKind::Name,
        item_kinds: TEMPLATE,
        documentation: "the URI template (RFC 6570), such as `notes://{day}`.",
    },
    Field {
        name: "name",
        member: "name",
        kind: FieldKind::Name,
        item_kinds: ALL,
        documentation: "The published name of a tool or prompt; for a resource, the name from its server.",
    },
    Field {
        name: "title",
        member: "title",
        kind: FieldKind::Text,
        item_kinds: ALL,
        documentation: "The display name; `\"\"` if there is none.",
    },
    Field {
        name: "description",
        member: "description",
        kind: FieldKind::Prose,
        item_kinds: ALL,
        documentation: "What the item does or contains; `\"\"` if there is none.",
    },
    Field {
        name: "parameters",
        member: "inputSchema",
        kind: FieldKind::Schema,
        item_kinds: TOOL,
        documentation: "the JSON Schema for the arguments, a dict.",
    },
    Field {
        name: "arguments",
        member: "arguments",
        kind: FieldKind::Arguments,
        item_kinds: PROMPT,
        documentation: "a list of dicts with `name` and optionally `title`, `description` and `required`.",
    },
    Field {
        name: "mime_type",
        member: "mimeType",
        kind: FieldKind::Text,
        item_kinds: RESOURCES,
        documentation: "the MIME type, such as `text/markdown`; `\"\"` if there is none.",
    },
    Field {
        name: "size",
        member: "size",
        kind: FieldKind::SizeOrNone,
        item_kinds: RESOURCE,
        documentation: "the size in bytes, or None.",
    },
    Field {
        name: "annotations",
        member: "annotations",
        kind: FieldKind::Object,
        item_kinds: ANNOTATED,
        documentation: "a dict of hints like `readOnlyHint` (tools) or `audience` (resources). The server declares them; the proxy does not verify them.",
    },
    Field {
        name: "output_schema",
        member: "outputSchema",
        kind: FieldKind::ObjectOrNone,
        item_kinds: TOOL,
        documentation: "the JSON Schema for the structured result, or None.",
    },
    Field {
        name: "icons",
        member: "icons",
        kind: FieldKind::List,
        item_kinds: ALL,
        documentation: "A list of icons (dicts).",
    },
    Field {
        name: "meta",
        member: "_meta",
        kind: FieldKind::Object,
        item_kinds: ALL,
        documentation: "The `_meta` dict.",
    },
];

/// The fields that a kind of item has.
pub(crate) fn fields(kind: ItemKind) -> impl Iterator<Item = &'static Field> + Clone {
    FIELDS.iter().filter(move |field| field.item_kinds.contains(&kind))
}

/// The field of that name, or an error that suggests the nearest one.
pub(crate) fn field(kind: ItemKind, name: &str) -> Result<&'static Field, ScriptError> {
    if let Some(field) = fields(kind).find(|field| field.name == name) {
        return Ok(field);
    }
    let noun = noun(kind);
    if name == "backend_id" || name == "original_name" {
        return Err(ScriptError::new(format!("`{name}` cannot be replaced: it says where the {noun} came from")));
    }
    if name == "lock" {
        let problem = format!("`lock` cannot be replaced: only `proxy lock` approves what a {noun} says");
        return Err(ScriptError::new(problem));
    }
    let known = fields(kind).map(|field| field.name).chain(["labels"]);
    let error = ScriptError::new(format!("the metadata of a {noun} has no field `{name}`"));
    Err(match nearest(name, known.clone()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("its fields are {}", known.collect::<Vec<_>>().join(", "))),
    })
}

impl FieldKind {
    pub(crate) fn accepts(self, json: &Json) -> bool {
        match self {
            FieldKind::Name | FieldKind::Text | FieldKind::Prose => json.is_string(),
            FieldKind::Schema | FieldKind::Object | FieldKind::ObjectOrNone => json.is_object(),
            FieldKind::List | FieldKind::Arguments => json.is_array(),
            FieldKind::SizeOrNone => json.as_u64().is_some(),
        }
    }

    /// The value that scripts read if the definition has no such member.
    pub(crate) fn absent(self) -> Json {
        match self {
            FieldKind::Name | FieldKind::Text | FieldKind::Prose => json!(""),
            FieldKind::Schema | FieldKind::Object => json!({}),
            FieldKind::ObjectOrNone | FieldKind::SizeOrNone => Json::Null,
            FieldKind::List | FieldKind::Arguments => json!([]),
        }
    }

    /// The type for error messages.
    fn noun(self) -> &'static str {
        match self {
            FieldKind::Name | FieldKind::Text | FieldKind::Prose => "text",
            FieldKind::Schema | FieldKind::Object => "a dict",
            FieldKind::ObjectOrNone => "a dict or None",
            FieldKind::List | FieldKind::Arguments => "a list",
            FieldKind::SizeOrNone => "a non-negative integer or None",
        }
    }
}

/// Converts a script's value to the member of the definition; None if the value is empty and the member is omitted.
pub(crate) fn member<'v>(field: &Field, value: Value<'v>, heap: Heap<'v>) -> starlark::Result<Option<Json>> {
    let json = convert::to_json(value, heap)
        .map_err(|error| script_error(format!("`{}` cannot be converted to JSON: {error}", field.name)))?;
    if field.kind == FieldKind::Schema && json == json!({}) {
        return Ok(Some(json!({"type": "object"})));
    }
    let optional = !matches!(field.kind, FieldKind::Name | FieldKind::Prose | FieldKind::Schema);
    if optional && (json.is_null() || json == field.kind.absent()) {
        return Ok(None);
    }
    if !field.kind.accepts(&json) {
        return Err(script_error(format!(
            "`{}` must be {}, not a `{}`",
            field.name,
            field.kind.noun(),
            value.get_type()
        )));
    }
    if field.kind == FieldKind::Arguments {
        check_arguments(&json)?;
    }
    Ok(Some(json))
}

/// Checks the arguments of a prompt: each needs a unique name.
fn check_arguments(json: &Json) -> Result<(), ScriptError> {
    let mut seen = Vec::new();
    for (index, argument) in json.as_array().into_iter().flatten().enumerate() {
        let name = argument.get("name").and_then(Json::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            ScriptError::new(format!("`arguments[{index}]` is not a dict with a `name`"))
                .hint("a prompt's arguments have the form `[{\"name\": \"topic\", \"required\": True}]`")
        })?;
        if seen.contains(&name) {
            return Err(ScriptError::new(format!("`arguments` has two entries named `{name}`")));
        }
        seen.push(name);
    }
    Ok(())
}
