//! Signatures of tools as Starlark functions, one line each, for models that write scripts.

use serde_json::{Value, json};

use super::names::{identifiers, is_identifier};
use super::shape::{ObjectField, Rest, SchemaShape, Type};
use proxy_model::Definition;

/// Maximum nesting of object types; deeper objects are shown as `dict`.
const MAX_DEPTH: usize = 3;
/// Maximum number of literal alternatives; if there are more, their common type is shown.
const MAX_LITERALS: usize = 12;
/// Maximum number of alternative types; if there are more, any value is shown.
const MAX_ALTERNATIVES: usize = 24;
/// Maximum length of the description beside a signature.
const MAX_DESCRIPTION: usize = 200;

/// One line per tool, with the beginning of its description.
pub fn signatures<'a>(tools: impl Iterator<Item = &'a Definition>) -> String {
    let tools: Vec<&Definition> = tools.collect();
    let functions = identifiers(tools.iter().map(|tool| tool.key()));
    let lines = tools.iter().zip(functions).map(|(tool, function)| {
        let signature = signature(tool, function.as_deref());
        match first_sentence(&tool.text("description")) {
            description if description.is_empty() => signature,
            description => format!("{signature}\n    {description}"),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A signature such as `search(query: str, limit?: int) -> list[str]`, or a `call_tool()` for a tool without a
/// function.
pub fn signature(tool: &Definition, function: Option<&str>) -> String {
    let input = SchemaShape::of(&tool.member("inputSchema").unwrap_or_default());
    let given = match function {
        Some(function) => format!("{function}({})", parameters(&input)),
        None => format!("call_tool({}, {})", json!(tool.key()), StarlarkWriter::new(&input).kind(&input.kind, 0)),
    };
    let Some(schema) = tool.member("outputSchema") else { return given };
    let output = SchemaShape::of(&schema);
    format!("{given} -> {}", StarlarkWriter::new(&output).kind(unwrapped(&output.kind), 0))
}

/// The return type. For an object with only `result`, scripts get the value of `result`.
fn unwrapped(kind: &Type) -> &Type {
    match kind {
        Type::Object(fields, _) if fields.len() == 1 && fields[0].name == "result" => &fields[0].kind,
        other => other,
    }
}

fn parameters(shape: &SchemaShape) -> String {
    let mut writer = StarlarkWriter::new(shape);
    let fields = match &shape.kind {
        Type::Object(fields, _) => fields,
        Type::Map(_) => return "**arguments".to_owned(),
        other => return format!("**{}", writer.kind(other, 0)),
    };
    // Required parameters come first.
    let (required, optional): (Vec<&ObjectField>, Vec<&ObjectField>) = fields.iter().partition(|field| field.required);
    let parameters = required.into_iter().chain(optional).map(|field| writer.field(field, field.required, 0));
    parameters.collect::<Vec<_>>().join(", ")
}

pub(super) struct StarlarkWriter<'a> {
    shape: &'a SchemaShape,
    /// The named parts being written; a recursive reference is written as `dict`.
    open: Vec<&'a str>,
    /// Whether members of objects or literals were left out so far.
    pub(super) has_omitted: bool,
}

impl<'a> StarlarkWriter<'a> {
    pub(super) fn new(shape: &'a SchemaShape) -> Self {
        StarlarkWriter { shape, open: Vec::new(), has_omitted: false }
    }

    pub(super) fn field(&mut self, field: &'a ObjectField, is_required: bool, depth: usize) -> String {
        let name = if is_identifier(&field.name) { field.name.clone() } else { json!(field.name).to_string() };
        let kind = self.kind(&field.kind, depth);
        match (&field.default, is_required) {
            (Some(default), false) if !default.is_object() && !default.is_array() => {
                format!("{name}: {kind} = {}", value(default))
            }
            (_, false) => format!("{name}?: {kind}"),
            (_, true) => format!("{name}: {kind}"),
        }
    }

    pub(super) fn kind(&mut self, kind: &'a Type, depth: usize) -> String {
        match kind {
            Type::Anything => "any".to_owned(),
            Type::Nothing => "never".to_owned(),
            Type::Null => "None".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Integer => "int".to_owned(),
            Type::Number => "float".to_owned(),
            Type::Text => "str".to_owned(),
            Type::Literal(literal) => value(literal),
            Type::List(item) => format!("list[{}]", self.kind(item, depth)),
            Type::Tuple(..) => {
                self.has_omitted |= kind.names_something();
                "list".to_owned()
            }
            Type::Map(value) if **value == Type::Anything => "dict".to_owned(),
            Type::Map(value) => format!("dict[str, {}]", self.kind(value, depth)),
            Type::Object(fields, rest) => self.object(fields, *rest, depth),
            Type::Either(kinds) => self.either(kinds, depth),
            Type::Both(kinds) => self.both(kinds, depth),
            Type::Part(pointer) => self.part(pointer, depth),
        }
    }

    fn object(&mut self, fields: &'a [ObjectField], rest: Rest, depth: usize) -> String {
        if depth >= MAX_DEPTH || fields.is_empty() {
            self.has_omitted |= !fields.is_empty();
            return "dict".to_owned();
        }
        let mut members: Vec<String> =
            fields.iter().map(|field| self.field(field, field.required, depth + 1)).collect();
        if rest == Rest::Open {
            members.push("...".to_owned());
        }
        format!("{{{}}}", members.join(", "))
    }

    fn either(&mut self, kinds: &'a [Type], depth: usize) -> String {
        let is_text = |kind: &&Type| matches!(kind, Type::Literal(Value::String(_)));
        if kinds.iter().filter(is_text).count() > MAX_LITERALS {
            self.has_omitted = true;
            return "str".to_owned();
        }
        if kinds.len() > MAX_ALTERNATIVES {
            self.has_omitted = true;
            return "any".to_owned();
        }
        kinds.iter().map(|kind| self.kind(kind, depth)).collect::<Vec<_>>().join(" | ")
    }

    fn both(&mut self, kinds: &'a [Type], depth: usize) -> String {
        let told: Vec<String> = kinds.iter().map(|kind| self.kind(kind, depth)).filter(|told| told != "dict").collect();
        if told.is_empty() { "dict".to_owned() } else { told.join(" & ") }
    }

    fn part(&mut self, pointer: &'a str, depth: usize) -> String {
        let Some(kind) = self.shape.parts.get(pointer).filter(|_| !self.open.contains(&pointer)) else {
            self.has_omitted = true;
            return "dict".to_owned();
        };
        self.open.push(pointer);
        let told = self.kind(kind, depth);
        self.open.pop();
        told
    }
}

/// A JSON value as a Starlark literal.
fn value(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn first_sentence(description: &str) -> String {
    let paragraph = description.trim().split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let text = words.join(" ");
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    let short: String = text[..end].chars().take(MAX_DESCRIPTION).collect();
    if short.len() < end { short + "…" } else { short }
}
