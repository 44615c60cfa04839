//! The fields of a tool's metadata: what scripts call them, what the protocol calls them, what they hold.

use serde_json::{Value as Json, json};
use starlark::values::{Heap, Value};

use crate::diagnostic::nearest;
use crate::script::{Complaint, complain, convert};

pub struct Field {
    pub name: &'static str,
    /// The member of the tool's JSON object.
    pub member: &'static str,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Name,
    Text,
    /// Text that may be said to be empty.
    Prose,
    Schema,
    Object,
    ObjectOrNone,
    List,
}

const FIELDS: [Field; 8] = [
    Field { name: "name", member: "name", kind: Kind::Name },
    Field { name: "title", member: "title", kind: Kind::Text },
    Field { name: "description", member: "description", kind: Kind::Prose },
    Field { name: "parameters", member: "inputSchema", kind: Kind::Schema },
    Field { name: "annotations", member: "annotations", kind: Kind::Object },
    Field { name: "output_schema", member: "outputSchema", kind: Kind::ObjectOrNone },
    Field { name: "icons", member: "icons", kind: Kind::List },
    Field { name: "meta", member: "_meta", kind: Kind::Object },
];

pub fn field(name: &str) -> Result<&'static Field, Complaint> {
    if let Some(field) = FIELDS.iter().find(|field| field.name == name) {
        return Ok(field);
    }
    if name == "backend_id" || name == "original_name" {
        return Err(Complaint::new(format!("`{name}` cannot be replaced: it says where the tool came from")));
    }
    let known = FIELDS.iter().map(|field| field.name);
    let complaint = Complaint::new(format!("a metadata has no field `{name}`"));
    Err(match nearest(name, known.clone()) {
        Some(near) => complaint.hint(format!("did you mean `{near}`?")),
        None => complaint.hint(format!("its fields are {}", known.collect::<Vec<_>>().join(", "))),
    })
}

impl Kind {
    pub fn accepts(self, json: &Json) -> bool {
        match self {
            Kind::Name | Kind::Text | Kind::Prose => json.is_string(),
            Kind::Schema | Kind::Object | Kind::ObjectOrNone => json.is_object(),
            Kind::List => json.is_array(),
        }
    }

    /// What a script reads where nothing is.
    pub fn absent(self) -> Json {
        match self {
            Kind::Name | Kind::Text | Kind::Prose => json!(""),
            Kind::Schema | Kind::Object => json!({}),
            Kind::ObjectOrNone => Json::Null,
            Kind::List => json!([]),
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Kind::Name | Kind::Text | Kind::Prose => "text",
            Kind::Schema | Kind::Object => "a dict",
            Kind::ObjectOrNone => "a dict or None",
            Kind::List => "a list",
        }
    }
}

/// The member a script's value becomes; none where the value says that there is none.
pub fn member<'v>(field: &Field, value: Value<'v>, heap: Heap<'v>) -> starlark::Result<Option<Json>> {
    let json = convert::to_json(value, heap)
        .map_err(|error| complain(format!("`{}` cannot become JSON: {error}", field.name)))?;
    if field.kind == Kind::Schema && json == json!({}) {
        return Ok(Some(json!({"type": "object"})));
    }
    let optional = !matches!(field.kind, Kind::Name | Kind::Prose | Kind::Schema);
    if optional && (json.is_null() || json == field.kind.absent()) {
        return Ok(None);
    }
    if !field.kind.accepts(&json) {
        return Err(complain(format!("`{}` must be {}, not a `{}`", field.name, field.kind.noun(), value.get_type())));
    }
    Ok(Some(json))
}
