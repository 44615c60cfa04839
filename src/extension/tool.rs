//! A tool of an extension: its arguments are checked and completed, then its handler runs.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::values::ToolData;
use crate::json::{RawRef, Schema, raw};
use crate::model::Definition;
use crate::script::{Failure, Function, Host, Limits};

#[derive(Clone, Debug)]
pub struct ExtensionTool {
    pub definition: Arc<Definition>,
    pub function: Function,
    schema: Arc<Schema>,
    defaults: Arc<Map<String, Json>>,
}

/// Why a call gave no value.
#[derive(Debug)]
pub enum CallFault {
    /// The arguments are not what the tool takes: names the field.
    Arguments(String),
    Failed(Failure),
}

impl fmt::Display for CallFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallFault::Arguments(text) => write!(formatter, "invalid arguments: {text}"),
            CallFault::Failed(failure) => formatter.write_str(&failure.for_client()),
        }
    }
}

impl ExtensionTool {
    pub(super) fn new(data: &ToolData, function: Function) -> Self {
        let ToolData { definition, schema, defaults } = data.clone();
        ExtensionTool { definition, function, schema, defaults }
    }

    /// Validates, fills defaults in, runs the handler on this thread.
    pub fn call(&self, arguments: &RawRef, host: Arc<dyn Host>, limits: &Limits) -> Result<Json, CallFault> {
        let parsed: Json =
            serde_json::from_str(arguments.get()).map_err(|error| CallFault::Arguments(error.to_string()))?;
        let Json::Object(mut members) = parsed else {
            return Err(CallFault::Arguments("they must be an object".to_owned()));
        };
        let given = members.len();
        for (name, default) in self.defaults.iter() {
            if !members.contains_key(name) {
                members.insert(name.clone(), default.clone());
            }
        }
        let completed = members.len() > given;
        let value = Json::Object(members);
        self.schema.check(&value).map_err(|error| CallFault::Arguments(error.to_string()))?;
        let result = if completed {
            self.function.call(&raw(&value), host, limits)
        } else {
            self.function.call(arguments, host, limits)
        };
        result.map_err(CallFault::Failed)
    }
}
