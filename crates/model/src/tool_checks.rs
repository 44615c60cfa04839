//! Checks a tool's arguments and results against its published schemas.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::definition::Definition;
use super::result::with_data_in_meta;
use super::tool_schema::ToolSchema;
use super::withheld::withheld_arguments;
use proxy_json::{InvalidSchema, Object, Schema, quote};

/// The checks of one published tool. A schema that was published as its server wrote it is compiled with the server's own
/// definition, which all surfaces share.
#[derive(Debug)]
pub struct ToolChecks {
    input: Arc<Definition>,
    output: Arc<Definition>,
    /// Whether the published input schema is not the server's own.
    changes_input: bool,
    changes_output: bool,
    /// The arguments that the server's own schema names and the published one does not.
    withheld: Vec<String>,
}

/// Checks a tool's result against its output schema, and returns the result for the client. The data of an error that does
/// not match the schema is not structured content there. A long check calls `pause` now and then.
pub fn checked_output(
    tool: &str,
    schema: Option<&Schema>,
    result: Map<String, Value>,
    pause: &dyn Fn(),
) -> Result<Map<String, Value>, String> {
    let Some(schema) = schema else { return Ok(result) };
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    let Some(structured) = result.get("structuredContent") else {
        let missing = || format!("`{tool}` promises structured output (`output_schema`) but returned none");
        return if is_error { Ok(result) } else { Err(missing()) };
    };
    match schema.check_with_pauses(structured, pause) {
        Ok(()) => Ok(result),
        Err(_) if is_error => Ok(with_data_in_meta(result)),
        Err(_) if let Some(text) = told_error(structured) => Ok(as_error(text)),
        Err(mismatch) => Err(format!("`{tool}` returned something its `output_schema` does not allow: {mismatch}")),
    }
}

/// The text of a dict that says nothing but that something went wrong: `{"error": "..."}`.
fn told_error(structured: &Value) -> Option<String> {
    let members = structured.as_object().filter(|members| members.len() == 1)?;
    match members.get("error")? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn as_error(text: String) -> Map<String, Value> {
    let content = json!([{"type": "text", "text": text}]);
    Map::from_iter([("content".to_owned(), content), ("isError".to_owned(), Value::Bool(true))])
}

impl ToolChecks {
    /// The checks of a tool. `own` is the server's own definition of the tool that is called; `None` if a script made the
    /// tool.
    pub fn new(published: &Arc<Definition>, own: Option<&Arc<Definition>>) -> Self {
        let (changes_input, changes_output) = match own {
            None => (true, true),
            Some(own) if Arc::ptr_eq(own, published) => (false, false),
            Some(own) => changes(published, own),
        };
        let source = |changed: bool| own.filter(|_| !changed).unwrap_or(published);
        let withheld = match own {
            Some(own) if changes_input => {
                let schema =
                    |definition: &Definition| definition.member(ToolSchema::Input.member()).unwrap_or_default();
                withheld_arguments(&schema(published), &schema(own))
            }
            _ => Vec::new(),
        };
        let (input, output) = (Arc::clone(source(changes_input)), Arc::clone(source(changes_output)));
        ToolChecks { input, output, changes_input, changes_output, withheld }
    }

    /// Whether the published input schema is not the server's own.
    pub fn changes_input(&self) -> bool {
        self.changes_input
    }

    /// Whether the proxy checks the arguments. Those of a tool that is forwarded as its server lists it are checked by the
    /// server, which knows the schema.
    pub fn applies(&self, is_forwarded: bool) -> bool {
        !is_forwarded || self.changes_input
    }

    /// Why a schema is invalid; `None` if it is valid or absent.
    pub fn fault(&self, schema: ToolSchema) -> Option<&InvalidSchema> {
        self.definition(schema).schema_fault(schema)
    }

    /// Why a schema that a script wrote or changed is invalid.
    pub fn fault_of_script(&self) -> Option<(ToolSchema, &InvalidSchema)> {
        let changed = [(ToolSchema::Input, self.changes_input), (ToolSchema::Output, self.changes_output)];
        let mut changed = changed.into_iter().filter(|(_, changed)| *changed);
        changed.find_map(|(schema, _)| Some((schema, self.fault(schema)?)))
    }

    /// Checks arguments. `ignored` are withheld arguments that may be sent, because the handler does not use them. A long
    /// check calls `pause` now and then.
    pub fn check_arguments(
        &self,
        tool: &str,
        arguments: &Value,
        ignored: &[String],
        pause: &dyn Fn(),
    ) -> Result<(), String> {
        let is_sent = |name: &&String| arguments.get(name.as_str()).is_some() && !ignored.contains(name);
        if let Some(name) = self.withheld.iter().find(is_sent) {
            return Err(format!("invalid arguments for `{tool}`: there is no argument `{name}`. {}", self.expected()));
        }
        let Some(schema) = self.input.schema(ToolSchema::Input) else { return Ok(()) };
        schema
            .check_with_pauses(arguments, pause)
            .map_err(|mismatch| format!("invalid arguments for `{tool}`: {mismatch}. {}", self.expected()))
    }

    /// The schema of structured results; `None` if there is none or an invalid one.
    pub fn output(&self) -> Option<&Schema> {
        self.output.schema(ToolSchema::Output)
    }

    fn definition(&self, schema: ToolSchema) -> &Definition {
        match schema {
            ToolSchema::Input => &self.input,
            ToolSchema::Output => &self.output,
        }
    }

    fn expected(&self) -> String {
        let schema = self.input.member(ToolSchema::Input.member()).unwrap_or_default();
        format!("Expected {}", shape(&schema))
    }
}

/// Whether the input schema and the output schema of two definitions differ.
fn changes(published: &Definition, own: &Definition) -> (bool, bool) {
    let (Ok(published), Ok(own)) = (Object::of(published.raw()), Object::of(own.raw())) else { return (true, true) };
    let differ = |schema: ToolSchema| {
        published.get(schema.member()).map(|raw| raw.get()) != own.get(schema.member()).map(|raw| raw.get())
    };
    (differ(ToolSchema::Input), differ(ToolSchema::Output))
}

/// A short form of a tool's input schema for error messages: `{"name": string, "limit"?: integer}`.
fn shape(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let members = properties.map(|(name, property)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{}{mark}: {}", quote(name), property["type"].as_str().unwrap_or("any"))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
}
