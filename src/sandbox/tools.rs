//! What a script is told of the tools that it can call.

use serde_json::{Value, json};

use crate::diagnostic::nearest;
use crate::model::Definition;
use crate::typings::signature;

/// One that was found for it, and the function that calls it, if there is one.
pub fn found_tool(definition: &Definition, function: Option<&str>) -> Value {
    json!({
        "name": definition.key(),
        "description": definition.text("description"),
        "signature": signature(definition, function),
    })
}

/// What it is told of a name that is none of these.
pub fn no_such_tool<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let shown: String = name.chars().take(128).collect();
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`search_tools(\"what it should do\")` finds those that there are".to_owned(),
    };
    format!("there is no tool `{shown}`; {hint}")
}
