//! The definition of a tool, resource, resource template or prompt: one JSON object, kept byte for byte.

use std::sync::OnceLock;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::tool_schema::{CompiledSchemas, ToolSchema};
use proxy_json::{InvalidSchema, Object, Raw, RawRef, Schema, hex};

/// The four kinds of items that a server lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Tool,
    Resource,
    ResourceTemplate,
    Prompt,
}

impl ItemKind {
    pub const ALL: [ItemKind; 4] = [ItemKind::Tool, ItemKind::Resource, ItemKind::ResourceTemplate, ItemKind::Prompt];

    pub fn list_method(self) -> &'static str {
        match self {
            ItemKind::Tool => "tools/list",
            ItemKind::Resource => "resources/list",
            ItemKind::ResourceTemplate => "resources/templates/list",
            ItemKind::Prompt => "prompts/list",
        }
    }

    /// The member of a list result that contains the items.
    pub fn list_member(self) -> &'static str {
        match self {
            ItemKind::Tool => "tools",
            ItemKind::Resource => "resources",
            ItemKind::ResourceTemplate => "resourceTemplates",
            ItemKind::Prompt => "prompts",
        }
    }

    /// The method that uses an item.
    pub fn use_method(self) -> &'static str {
        match self {
            ItemKind::Tool => "tools/call",
            ItemKind::Resource | ItemKind::ResourceTemplate => "resources/read",
            ItemKind::Prompt => "prompts/get",
        }
    }

    /// The kind of the items that a method uses; [`ItemKind::Resource`] for `resources/read`. `None` for other methods.
    pub fn used_by(method: &str) -> Option<Self> {
        [ItemKind::Tool, ItemKind::Resource, ItemKind::Prompt].into_iter().find(|kind| kind.use_method() == method)
    }

    /// The member of the params of [`ItemKind::use_method`] that names the item.
    pub fn use_member(self) -> &'static str {
        match self {
            ItemKind::Tool | ItemKind::Prompt => "name",
            ItemKind::Resource | ItemKind::ResourceTemplate => "uri",
        }
    }

    /// The name of the kind in messages.
    pub fn noun(self) -> &'static str {
        match self {
            ItemKind::Tool => "tool",
            ItemKind::Resource => "resource",
            ItemKind::ResourceTemplate => "resource template",
            ItemKind::Prompt => "prompt",
        }
    }

    /// The server capability that announces this list.
    pub fn capability(self) -> &'static str {
        match self {
            ItemKind::Tool => "tools",
            ItemKind::Resource | ItemKind::ResourceTemplate => "resources",
            ItemKind::Prompt => "prompts",
        }
    }

    /// The member that identifies an item among its kind.
    pub fn key_member(self) -> &'static str {
        match self {
            ItemKind::Tool | ItemKind::Prompt => "name",
            ItemKind::Resource => "uri",
            ItemKind::ResourceTemplate => "uriTemplate",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error("it is not an object: {0}")]
    NotAnObject(String),
    #[error("it has no `{0}`")]
    NoKey(&'static str),
    #[error("`{0}` has no `inputSchema` object")]
    NoSchema(String),
}

/// The definition of one item. An edit replaces parts of the original text, so unknown members are preserved.
#[derive(Clone, Debug)]
pub struct Definition {
    key: String,
    raw: Raw,
    schemas: CompiledSchemas,
    text_digest: OnceLock<Box<str>>,
}

impl Definition {
    pub fn parse(kind: ItemKind, raw: Raw) -> Result<Self, DefinitionError> {
        let object = Object::of(&raw).map_err(|error| DefinitionError::NotAnObject(error.to_string()))?;
        let member = kind.key_member();
        let key = object.string(member).ok_or(DefinitionError::NoKey(member))?;
        if kind == ItemKind::Tool {
            let schema = object.get("inputSchema").map(RawRef::get).unwrap_or_default();
            if !schema.trim_start().starts_with('{') {
                return Err(DefinitionError::NoSchema(key));
            }
        }
        Ok(Definition { key, raw, schemas: CompiledSchemas::default(), text_digest: OnceLock::new() })
    }

    /// The name of a tool or prompt, the URI of a resource or template.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The SHA-256 of the text, in hexadecimal. Computed once, because every line of an audit log has it.
    pub fn text_digest(&self) -> &str {
        self.text_digest.get_or_init(|| hex(&Sha256::digest(self.raw.get().as_bytes())).into())
    }

    pub fn raw(&self) -> &RawRef {
        &self.raw
    }

    /// The definition, to keep without a copy of its text.
    pub fn shared_raw(&self) -> &Raw {
        &self.raw
    }

    /// A member as a value; `None` where it is absent or `null`.
    pub fn member(&self, name: &str) -> Option<Value> {
        let object = Object::of(&self.raw).ok()?;
        let value: Value = serde_json::from_str(object.get(name)?.get()).ok()?;
        (!value.is_null()).then_some(value)
    }

    /// The compiled schema of a tool; `None` if it has none or an invalid one.
    pub fn schema(&self, schema: ToolSchema) -> Option<&Schema> {
        self.schemas.of(schema).compiled(|| self.member(schema.member()))
    }

    /// Why the schema of a tool is invalid; `None` if it is valid or absent.
    pub fn schema_fault(&self, schema: ToolSchema) -> Option<&InvalidSchema> {
        self.schemas.of(schema).fault(|| self.member(schema.member()))
    }

    pub fn text(&self, name: &str) -> String {
        match self.member(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        }
    }

    /// A copy with these members replaced, or removed for `None`. All other members keep their bytes.
    pub fn with(&self, kind: ItemKind, changes: &[(&str, Option<Raw>)]) -> Result<Self, DefinitionError> {
        let raw = {
            let object = Object::of(&self.raw).map_err(|error| DefinitionError::NotAnObject(error.to_string()))?;
            let mut edit = object.edit();
            for (member, value) in changes {
                match value {
                    Some(value) => edit.set(member, value),
                    None => edit.remove(member),
                };
            }
            edit.finish_raw()
        };
        Self::parse(kind, raw)
    }

    /// A copy under another name.
    pub fn renamed(&self, kind: ItemKind, name: &str) -> Result<Self, DefinitionError> {
        self.with(kind, &[(kind.key_member(), Some(proxy_json::raw(name)))])
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.raw.get() == other.raw.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(text: &str) -> Result<Definition, DefinitionError> {
        Definition::parse(ItemKind::Tool, proxy_json::valid(text.to_owned()).unwrap())
    }

    #[test]
    fn a_renamed_tool_keeps_unknown_members_and_number_spelling() {
        let original = tool(r#"{"name":"a","x-vendor":{"n":1.10},"inputSchema":{"type":"object"}}"#).unwrap();
        let renamed = original.renamed(ItemKind::Tool, "b").unwrap();
        assert_eq!(renamed.raw().get(), r#"{"name":"b","x-vendor":{"n":1.10},"inputSchema":{"type":"object"}}"#);
        assert_eq!(renamed.key(), "b");
    }

    #[test]
    fn a_tool_without_schema_or_name_is_malformed() {
        assert!(tool(r#"{"name":"a"}"#).is_err());
        assert!(tool(r#"{"inputSchema":{}}"#).is_err());
        assert!(tool(r#"[1]"#).is_err());
    }
}
