//! Something an extension offers: its arguments are checked and completed, then its handler runs, and what it returns is
//! given its shape.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::types::ItemData;
use crate::json::{Raw, RawRef, raw};
use crate::model::{Definition, ItemKind, error_result, shaped, shaped_contents, shaped_messages};
use crate::script::{Failure, Function, Host, Limits};

#[derive(Clone, Debug)]
pub struct ExtensionItem {
    pub kind: ItemKind,
    pub definition: Arc<Definition>,
    pub function: Function,
    data: Arc<ItemData>,
}

/// Why a call gave no value.
#[derive(Debug)]
pub enum CallFault {
    /// The arguments are not what it takes: names the field.
    Arguments(String),
    Failed(Failure),
    /// It returned what has no shape as a result.
    Returned(String),
}

impl fmt::Display for CallFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallFault::Arguments(text) => write!(formatter, "invalid arguments: {text}"),
            CallFault::Failed(failure) => formatter.write_str(&failure.for_client()),
            CallFault::Returned(text) => formatter.write_str(text),
        }
    }
}

impl ExtensionItem {
    pub(super) fn new(data: &ItemData, function: Function) -> Self {
        let definition = Arc::clone(&data.definition);
        ExtensionItem { kind: data.kind, definition, function, data: Arc::new(data.clone()) }
    }

    /// The variables in a URI that fits this template.
    pub(super) fn variables(&self, uri: &str) -> Option<Map<String, Json>> {
        let found = self.data.template.as_ref()?.variables(uri)?;
        Some(found.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    }

    /// Validates, fills defaults in, runs the handler on this thread. `arguments` are those of a tool or a prompt; for a
    /// resource what its handler gets.
    pub fn call(&self, arguments: &RawRef, host: Arc<dyn Host>, limits: &Limits) -> Result<Json, CallFault> {
        let parsed: Json =
            serde_json::from_str(arguments.get()).map_err(|error| CallFault::Arguments(error.to_string()))?;
        let Json::Object(mut members) = parsed else {
            return Err(CallFault::Arguments("they must be an object".to_owned()));
        };
        let given = members.len();
        for (name, default) in self.data.defaults.iter() {
            if !members.contains_key(name) {
                members.insert(name.clone(), default.clone());
            }
        }
        let completed = members.len() > given;
        let value = Json::Object(members);
        if let Some(schema) = &self.data.input {
            schema.check(&value).map_err(|error| CallFault::Arguments(error.to_string()))?;
        }
        let result = if completed {
            self.function.call(&raw(&value), host, limits)
        } else {
            self.function.call(arguments, host, limits)
        };
        result.map_err(CallFault::Failed)
    }

    /// What a handler returned, as the result of the protocol. `key` is what it was called by.
    pub(super) fn shaped(&self, returned: Json, key: &str) -> Result<Raw, CallFault> {
        let members = match self.kind {
            ItemKind::Tool => return Ok(self.kept_promise(shaped(returned, true))),
            ItemKind::Prompt => shaped_messages(returned).map_err(CallFault::Returned)?,
            ItemKind::Resource | ItemKind::ResourceTemplate => {
                self.typed(shaped_contents(returned, key).map_err(CallFault::Returned)?)
            }
        };
        Ok(raw(&members))
    }

    /// Checks a result against what the tool promises.
    fn kept_promise(&self, result: Map<String, Json>) -> Raw {
        let is_error = result.get("isError") == Some(&Json::Bool(true));
        let (false, Some(schema)) = (is_error, &self.data.output) else { return raw(&result) };
        let name = self.definition.key();
        match result.get("structuredContent").map(|content| schema.check(content)) {
            Some(Ok(())) => raw(&result),
            Some(Err(mismatch)) => {
                error_result(&format!("`{name}` returned something its `output_schema` does not allow: {mismatch}"))
            }
            None => error_result(&format!("`{name}` promises structured output (`output_schema`) but returned none")),
        }
    }

    /// Contents without a type get the one the resource declares.
    fn typed(&self, mut result: Map<String, Json>) -> Map<String, Json> {
        let Some(declared) = self.definition.member("mimeType") else { return result };
        for content in result.get_mut("contents").and_then(Json::as_array_mut).into_iter().flatten() {
            if let Some(content) = content.as_object_mut()
                && !content.contains_key("mimeType")
            {
                content.insert("mimeType".to_owned(), declared.clone());
            }
        }
        result
    }

    /// What the handler of a resource gets.
    pub(super) fn reading(&self, uri: &str) -> Raw {
        let mut members = self.variables(uri).unwrap_or_default();
        members.insert("uri".to_owned(), json!(uri));
        raw(&members)
    }
}
