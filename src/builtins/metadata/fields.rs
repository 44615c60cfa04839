//! The fields of a metadata: what scripts call them, what the protocol calls them, what they hold, who has them.

use serde_json::{Value as Json, json};
use starlark::values::{Heap, Value};

use super::kinds::noun;
use crate::diagnostic::nearest;
use crate::model::ItemKind;
use crate::script::{ScriptError, convert, script_error};

pub(crate) struct Field {
    pub name: &'static str,
    /// The member of the item's JSON object.
    pub member: &'static str,
    pub kind: Kind,
    /// What has such a field.
    pub of: &'static [ItemKind],
    /// For the reference.
    pub documentation: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Name,
    Text,
    /// Text that may be said to be empty.
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
/// What is known by its name: only there it can be said which name it had before.
pub(crate) const NAMED: &[ItemKind] = &[ItemKind::Tool, ItemKind::Prompt];

pub(crate) const FIELDS: [Field; 13] = [
    Field {
        name: "uri",
        member: "uri",
        kind: Kind::Name,
        of: RESOURCE,
        documentation: "the URI it is published under.",
    },
    Field {
        name: "uri_template",
        member: "uriTemplate",
        kind: Kind::Name,
        of: TEMPLATE,
        documentation: "the URIs it stands for, such as `notes://{day}`.",
    },
    Field {
        name: "name",
        member: "name",
        kind: Kind::Name,
        of: ALL,
        documentation: "The name a tool or prompt is published under; of a resource, what its server calls it.",
    },
    Field {
        name: "title",
        member: "title",
        kind: Kind::Text,
        of: ALL,
        documentation: "A name for people; `\"\"` if there is none.",
    },
    Field {
        name: "description",
        member: "description",
        kind: Kind::Prose,
        of: ALL,
        documentation: "What it does or holds; `\"\"` if nothing is said.",
    },
    Field {
        name: "parameters",
        member: "inputSchema",
        kind: Kind::Schema,
        of: TOOL,
        documentation: "the JSON Schema of its arguments, a dict.",
    },
    Field {
        name: "arguments",
        member: "arguments",
        kind: Kind::Arguments,
        of: PROMPT,
        documentation: "a list of dicts with `name` and, where they are known, `title`, `description` and `required`.",
    },
    Field {
        name: "mime_type",
        member: "mimeType",
        kind: Kind::Text,
        of: RESOURCES,
        documentation: "what it holds, such as `text/markdown`; `\"\"` if nothing is said.",
    },
    Field {
        name: "size",
        member: "size",
        kind: Kind::SizeOrNone,
        of: RESOURCE,
        documentation: "how many bytes it has, or None.",
    },
    Field {
        name: "annotations",
        member: "annotations",
        kind: Kind::Object,
        of: ANNOTATED,
        documentation: "hints such as a tool's `readOnlyHint` or a resource's `audience`, a dict. Claims of the server, not facts.",
    },
    Field {
        name: "output_schema",
        member: "outputSchema",
        kind: Kind::ObjectOrNone,
        of: TOOL,
        documentation: "the JSON Schema of its structured result, or None.",
    },
    Field { name: "icons", member: "icons", kind: Kind::List, of: ALL, documentation: "A list of dicts." },
    Field { name: "meta", member: "_meta", kind: Kind::Object, of: ALL, documentation: "The `_meta` dict." },
];

/// The fields that a kind has.
pub(crate) fn fields(kind: ItemKind) -> impl Iterator<Item = &'static Field> + Clone {
    FIELDS.iter().filter(move |field| field.of.contains(&kind))
}

pub(crate) fn field(kind: ItemKind, name: &str) -> Result<&'static Field, ScriptError> {
    if let Some(field) = fields(kind).find(|field| field.name == name) {
        return Ok(field);
    }
    let noun = noun(kind);
    if name == "backend_id" || name == "original_name" {
        return Err(ScriptError::new(format!("`{name}` cannot be replaced: it says where the {noun} came from")));
    }
    let known = fields(kind).map(|field| field.name);
    let complaint = ScriptError::new(format!("the metadata of a {noun} has no field `{name}`"));
    Err(match nearest(name, known.clone()) {
        Some(near) => complaint.hint(format!("did you mean `{near}`?")),
        None => complaint.hint(format!("its fields are {}", known.collect::<Vec<_>>().join(", "))),
    })
}

impl Kind {
    pub(crate) fn accepts(self, json: &Json) -> bool {
        match self {
            Kind::Name | Kind::Text | Kind::Prose => json.is_string(),
            Kind::Schema | Kind::Object | Kind::ObjectOrNone => json.is_object(),
            Kind::List | Kind::Arguments => json.is_array(),
            Kind::SizeOrNone => json.as_u64().is_some(),
        }
    }

    /// What a script reads where nothing is.
    pub(crate) fn absent(self) -> Json {
        match self {
            Kind::Name | Kind::Text | Kind::Prose => json!(""),
            Kind::Schema | Kind::Object => json!({}),
            Kind::ObjectOrNone | Kind::SizeOrNone => Json::Null,
            Kind::List | Kind::Arguments => json!([]),
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Kind::Name | Kind::Text | Kind::Prose => "text",
            Kind::Schema | Kind::Object => "a dict",
            Kind::ObjectOrNone => "a dict or None",
            Kind::List | Kind::Arguments => "a list",
            Kind::SizeOrNone => "a whole number of bytes or None",
        }
    }
}

/// The member a script's value becomes; none where the value says that there is none.
pub(crate) fn member<'v>(field: &Field, value: Value<'v>, heap: Heap<'v>) -> starlark::Result<Option<Json>> {
    let json = convert::to_json(value, heap)
        .map_err(|error| script_error(format!("`{}` cannot become JSON: {error}", field.name)))?;
    if field.kind == Kind::Schema && json == json!({}) {
        return Ok(Some(json!({"type": "object"})));
    }
    let optional = !matches!(field.kind, Kind::Name | Kind::Prose | Kind::Schema);
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
    if field.kind == Kind::Arguments {
        check_arguments(&json)?;
    }
    Ok(Some(json))
}

/// Clients ask people for these by name.
fn check_arguments(json: &Json) -> Result<(), ScriptError> {
    let mut seen = Vec::new();
    for (index, argument) in json.as_array().into_iter().flatten().enumerate() {
        let name = argument.get("name").and_then(Json::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            ScriptError::new(format!("`arguments[{index}]` is not a dict with a `name`"))
                .hint("a prompt's arguments have the form `[{\"name\": \"topic\", \"required\": True}]`")
        })?;
        if seen.contains(&name) {
            return Err(ScriptError::new(format!("`arguments` has `{name}` twice")));
        }
        seen.push(name);
    }
    Ok(())
}
