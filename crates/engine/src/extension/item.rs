//! A tool, resource or prompt of an extension: checks the arguments and fills in defaults, runs the handler, and converts
//! its return value to an MCP result.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::values::ItemData;
use proxy_builtins::Completers;
use proxy_json::{Raw, RawRef, raw};
use proxy_model::{
    Definition, ItemKind, checked_output, error_result, interface_of, shaped, shaped_contents, shaped_messages,
};
use proxy_script::{Failure, Function, Host, Limits};

/// One item, with its handler.
#[derive(Clone, Debug)]
pub struct ExtensionItem {
    pub kind: ItemKind,
    pub definition: Arc<Definition>,
    pub function: Function,
    /// The functions that complete arguments.
    pub completers: Option<Completers>,
    data: Arc<ItemData>,
}

/// Why a call of an extension's item has no result.
#[derive(Debug)]
pub enum ExtensionCallError {
    /// The arguments do not match the input schema. The text names the field.
    Arguments(String),
    /// The handler failed.
    Failed(Failure),
    /// The return value of the handler cannot become an MCP result.
    Returned(String),
}

impl fmt::Display for ExtensionCallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtensionCallError::Arguments(text) => write!(formatter, "invalid arguments: {text}"),
            ExtensionCallError::Failed(failure) => formatter.write_str(&failure.for_client()),
            ExtensionCallError::Returned(text) => formatter.write_str(text),
        }
    }
}

impl ExtensionItem {
    pub(super) fn new(data: &ItemData, function: Function, completers: Option<Completers>) -> Self {
        let definition = Arc::clone(&data.definition);
        let function = match data.timeout {
            Some(limit) => function.with_timeout(limit),
            None => function,
        };
        ExtensionItem { kind: data.kind, definition, function, completers, data: Arc::new(data.clone()) }
    }

    /// How often the resource is refreshed while clients follow it.
    pub(super) fn refresh_interval(&self) -> Option<Duration> {
        self.data.refresh
    }

    /// The variables of a URI that matches this template.
    pub(super) fn variables(&self, uri: &str) -> Option<Map<String, Json>> {
        let found = self.data.template.as_ref()?.variables(uri)?;
        Some(found.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    }

    /// Validates the arguments, fills in defaults, and runs the handler on this thread. For a resource, `arguments` is what
    /// `resource_arguments` returns.
    pub fn call(&self, arguments: &RawRef, host: Arc<Host>, limits: &Limits) -> Result<Json, ExtensionCallError> {
        let parsed: Json =
            serde_json::from_str(arguments.get()).map_err(|error| ExtensionCallError::Arguments(error.to_string()))?;
        let Json::Object(mut members) = parsed else {
            return Err(ExtensionCallError::Arguments("expected an object".to_owned()));
        };
        let count = members.len();
        for (name, default) in self.data.defaults.iter() {
            if !members.contains_key(name) {
                members.insert(name.clone(), default.clone());
            }
        }
        let has_defaults = members.len() > count;
        let value = Json::Object(members);
        if let Some(schema) = &self.data.input {
            let checked = schema.check_with_pauses(&value, &proxy_fiber::yield_if_over_slice);
            checked.map_err(|error| ExtensionCallError::Arguments(error.to_string()))?;
        }
        let result = if has_defaults {
            self.function.call(&raw(&value), host, limits)
        } else {
            self.function.call(arguments, host, limits)
        };
        result.map_err(ExtensionCallError::Failed)
    }

    /// The return value of a handler as an MCP result. `key` is the name or URI that the item was called by.
    pub(super) fn shaped(&self, returned: Json, key: &str) -> Result<Raw, ExtensionCallError> {
        let members = match self.kind {
            ItemKind::Tool => return Ok(self.checked(shaped(returned, true))),
            ItemKind::Prompt => shaped_messages(returned).map_err(ExtensionCallError::Returned)?,
            ItemKind::Resource | ItemKind::ResourceTemplate => {
                self.with_mime_type(shaped_contents(returned, key).map_err(ExtensionCallError::Returned)?)
            }
        };
        Ok(raw(&members))
    }

    /// Whether the item is a tool with a user interface.
    pub(super) fn has_interface(&self) -> bool {
        self.kind == ItemKind::Tool && interface_of(&self.definition).is_some()
    }

    /// Checks a result against the output schema of the tool.
    pub(super) fn checked(&self, result: Map<String, Json>) -> Raw {
        let (name, pause) = (self.definition.key(), proxy_fiber::yield_if_over_slice);
        match checked_output(name, self.data.output.as_deref(), result, &pause) {
            Ok(result) => raw(&result),
            Err(problem) => error_result(&problem),
        }
    }

    /// Adds the declared MIME type to contents that have none.
    fn with_mime_type(&self, mut result: Map<String, Json>) -> Map<String, Json> {
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

    /// The argument of a resource's handler: the URI and the variables of the template.
    pub(super) fn resource_arguments(&self, uri: &str) -> Raw {
        let mut members = self.variables(uri).unwrap_or_default();
        members.insert("uri".to_owned(), json!(uri));
        raw(&members)
    }
}
