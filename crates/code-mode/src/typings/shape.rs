//! Converts a JSON Schema to a language-independent type.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value};

/// Maximum depth of a schema; deeper parts become the type of any value.
const MAX_DEPTH: usize = 40;
/// Maximum number of referenced parts of a schema.
const MAX_PARTS: usize = 500;
/// Maximum number of schemas within a schema, each counted as often as it is read. More become the type of any value.
const MAX_SCHEMAS: usize = 100_000;
/// Maximum number of alternatives in one place. Each is compared with all others.
const MAX_ALTERNATIVES: usize = 2_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Anything,
    Nothing,
    Null,
    Bool,
    Integer,
    Number,
    Text,
    /// A literal string, number or Boolean.
    Literal(Value),
    List(Box<Type>),
    /// A tuple: the types of its items, and of further items.
    Tuple(Vec<Type>, Option<Box<Type>>),
    /// An object with arbitrary keys.
    Map(Box<Type>),
    Object(Vec<ObjectField>, Rest),
    Either(Vec<Type>),
    Both(Vec<Type>),
    /// A named part of the schema, by its JSON pointer.
    Part(String),
}

/// Whether an object may have members beside the named ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Unsaid,
    Open,
    Closed,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectField {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) required: bool,
    pub(super) description: String,
    pub(super) default: Option<Value>,
}

/// A converted schema, with the parts it refers to.
#[derive(Debug)]
pub(super) struct SchemaShape {
    pub(super) kind: Type,
    pub(super) parts: IndexMap<String, Type>,
    /// Whether the schema names members of objects or literals that the type does not have.
    pub(super) is_partial: bool,
}

impl SchemaShape {
    pub(super) fn of(schema: &Value) -> Self {
        let mut reader = SchemaReader { root: schema, parts: IndexMap::new(), is_partial: false, schemas: 0 };
        let kind = reader.read(schema, 0);
        SchemaShape { kind, parts: reader.parts, is_partial: reader.is_partial }
    }

    /// Whether arguments of this type may be left out altogether.
    pub(super) fn is_optional(&self) -> bool {
        match &self.kind {
            Type::Object(fields, _) => fields.iter().all(|field| !field.required),
            Type::Map(_) | Type::Anything => true,
            _ => false,
        }
    }
}

impl Type {
    /// Whether the type has literals or members with names.
    pub(super) fn names_something(&self) -> bool {
        match self {
            Type::Literal(_) | Type::Part(_) => true,
            Type::Object(fields, _) => !fields.is_empty(),
            Type::List(kind) | Type::Map(kind) => kind.names_something(),
            Type::Tuple(first, rest) => first.iter().chain(rest.as_deref()).any(Type::names_something),
            Type::Either(kinds) | Type::Both(kinds) => kinds.iter().any(Type::names_something),
            Type::Anything | Type::Nothing | Type::Null | Type::Bool | Type::Integer | Type::Number | Type::Text => {
                false
            }
        }
    }
}

/// Keywords with schemas that name members, and that no type shows.
const NOT_SHOWN: [&str; 5] = ["then", "else", "dependentSchemas", "dependencies", "patternProperties"];

/// Keywords that constrain the object beside a reference. The reference hides them.
const HIDDEN_BY_REFERENCE: [&str; 7] = ["properties", "enum", "const", "anyOf", "oneOf", "allOf", "items"];

struct SchemaReader<'a> {
    root: &'a Value,
    parts: IndexMap<String, Type>,
    is_partial: bool,
    /// The number of schemas that were read so far.
    schemas: usize,
}

impl SchemaReader<'_> {
    fn read(&mut self, schema: &Value, depth: usize) -> Type {
        let Value::Object(members) = schema else {
            return if *schema == Value::Bool(false) { Type::Nothing } else { Type::Anything };
        };
        self.schemas += 1;
        if depth > MAX_DEPTH || self.schemas > MAX_SCHEMAS {
            self.is_partial = true;
            return Type::Anything;
        }
        self.is_partial |= NOT_SHOWN.iter().any(|keyword| members.contains_key(*keyword));
        if let Some(pointer) = members.get("$ref").and_then(Value::as_str) {
            self.is_partial |= HIDDEN_BY_REFERENCE.iter().any(|keyword| members.contains_key(*keyword));
            return self.part(pointer, depth);
        }
        let mut all = vec![self.own(members, depth)];
        for choice in ["anyOf", "oneOf"] {
            if let Some(choices) = members.get(choice).and_then(Value::as_array) {
                let choices = choices.iter().map(|choice| self.read(choice, depth + 1)).collect();
                all.push(self.either(choices));
            }
        }
        if let Some(choices) = members.get("allOf").and_then(Value::as_array) {
            all.extend(choices.iter().map(|choice| self.read(choice, depth + 1)));
        }
        let kind = both(all);
        if members.get("nullable") == Some(&Value::Bool(true)) { self.either(vec![kind, Type::Null]) } else { kind }
    }

    /// One of these types. If any value is allowed, the other types are not shown.
    fn either(&mut self, mut kinds: Vec<Type>) -> Type {
        if kinds.len() > MAX_ALTERNATIVES {
            kinds.truncate(MAX_ALTERNATIVES);
            self.is_partial = true;
        }
        let names_something = kinds.iter().any(Type::names_something);
        let kind = either(kinds);
        self.is_partial |= kind == Type::Anything && names_something;
        kind
    }

    fn literal(&mut self, value: &Value) -> Type {
        let kind = literal(value);
        self.is_partial |= kind == Type::Anything;
        kind
    }

    /// The type of the schema itself, without the schemas it combines.
    fn own(&mut self, members: &Map<String, Value>, depth: usize) -> Type {
        if let Some(value) = members.get("const") {
            return self.literal(value);
        }
        if let Some(values) = members.get("enum").and_then(Value::as_array) {
            let values = values.iter().map(|value| self.literal(value)).collect();
            return self.either(values);
        }
        match members.get("type") {
            Some(Value::String(name)) => self.named(name, members, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                let kinds = names.map(|name| self.named(name, members, depth)).collect();
                self.either(kinds)
            }
            _ if members.contains_key("properties") => self.object(members, depth),
            _ if members.contains_key("items") || members.contains_key("prefixItems") => self.list(members, depth),
            _ => Type::Anything,
        }
    }

    fn named(&mut self, name: &str, members: &Map<String, Value>, depth: usize) -> Type {
        match name {
            "null" => Type::Null,
            "boolean" => Type::Bool,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "string" => Type::Text,
            "array" => self.list(members, depth),
            "object" => self.object(members, depth),
            _ => Type::Anything,
        }
    }

    fn list(&mut self, members: &Map<String, Value>, depth: usize) -> Type {
        // Older drafts have the items of a tuple as a list in `items`.
        let (first, rest) = match (members.get("prefixItems"), members.get("items")) {
            (Some(Value::Array(first)), rest) => (first, rest),
            (_, Some(Value::Array(first))) => (first, members.get("additionalItems")),
            (_, items) => {
                let item = items.map_or(Type::Anything, |items| self.read(items, depth + 1));
                return Type::List(Box::new(item));
            }
        };
        let first = first.iter().map(|item| self.read(item, depth + 1)).collect();
        let rest = match rest {
            Some(Value::Bool(false)) => None,
            Some(rest) => Some(Box::new(self.read(rest, depth + 1))),
            None => Some(Box::new(Type::Anything)),
        };
        Type::Tuple(first, rest)
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize) -> Type {
        let required: HashSet<&str> =
            members.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = members.get("properties").and_then(Value::as_object);
        let mut fields: Vec<ObjectField> = Vec::new();
        for (name, schema) in properties.into_iter().flatten() {
            fields.push(ObjectField {
                name: name.clone(),
                kind: self.read(schema, depth + 1),
                required: required.contains(name.as_str()),
                description: schema["description"].as_str().unwrap_or_default().to_owned(),
                default: schema.get("default").cloned(),
            });
        }
        let others = members.get("additionalProperties");
        if fields.is_empty() {
            return match others {
                Some(Value::Bool(false)) => Type::Object(fields, Rest::Closed),
                Some(others) => Type::Map(Box::new(self.read(others, depth + 1))),
                None if properties.is_some() => Type::Object(fields, Rest::Unsaid),
                None => Type::Map(Box::new(Type::Anything)),
            };
        }
        let rest = match others {
            None => Rest::Unsaid,
            Some(Value::Bool(false)) => Rest::Closed,
            Some(others) => {
                self.is_partial |= self.read(others, depth + 1).names_something();
                Rest::Open
            }
        };
        Type::Object(fields, rest)
    }

    fn part(&mut self, pointer: &str, depth: usize) -> Type {
        if self.parts.contains_key(pointer) {
            return Type::Part(pointer.to_owned());
        }
        let decoded = pointer.strip_prefix('#').map(unescaped);
        let root = self.root;
        let Some(schema) = decoded.and_then(|path| root.pointer(&path)) else {
            self.is_partial = true;
            return Type::Anything;
        };
        if self.parts.len() >= MAX_PARTS {
            self.is_partial = true;
            return Type::Anything;
        }
        // Registered before it is converted, because it may refer to itself.
        self.parts.insert(pointer.to_owned(), Type::Anything);
        let kind = self.read(schema, depth + 1);
        self.parts.insert(pointer.to_owned(), kind);
        Type::Part(pointer.to_owned())
    }
}

/// Decodes a JSON pointer in a URI fragment, which may be percent-encoded.
fn unescaped(pointer: &str) -> String {
    percent_encoding::percent_decode_str(pointer).decode_utf8_lossy().into_owned()
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Array(_) | Value::Object(_) => Type::Anything,
        _ => Type::Literal(value.clone()),
    }
}

fn either(kinds: Vec<Type>) -> Type {
    let mut distinct: Vec<Type> = Vec::new();
    let flat = kinds.into_iter().flat_map(|kind| match kind {
        Type::Either(inner) => inner,
        other => vec![other],
    });
    for kind in flat {
        if kind == Type::Anything {
            return Type::Anything;
        }
        if kind != Type::Nothing && !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    single(distinct, Type::Nothing, Type::Either)
}

fn both(kinds: Vec<Type>) -> Type {
    let mut distinct: Vec<Type> = Vec::new();
    for kind in kinds {
        if kind != Type::Anything && !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    single(distinct, Type::Anything, Type::Both)
}

fn single(mut kinds: Vec<Type>, none: Type, many: fn(Vec<Type>) -> Type) -> Type {
    match kinds.len() {
        0 => none,
        1 => kinds.remove(0),
        _ => many(kinds),
    }
}
