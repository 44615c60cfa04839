//! What a script learns about the tools that it can call.

use serde_json::{Value, json};

use crate::typings::signature;
use proxy_base::diagnostic::nearest;
use proxy_model::Definition;

/// A result of `search_tools`; `function` is the function that calls the tool, if there is one.
pub fn found_tool(definition: &Definition, function: Option<&str>) -> Value {
    json!({
        "name": definition.key(),
        "description": definition.text("description"),
        "signature": signature(definition, function),
    })
}

/// The error for a call of a tool that is not among `names`.
pub fn no_such_tool<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let shown: String = name.chars().take(128).collect();
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`search_tools(\"what it should do\")` lists the available tools".to_owned(),
    };
    format!("there is no tool `{shown}`; {hint}")
}
