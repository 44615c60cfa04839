//! The arguments of a tool that changed: what the approved schema does not name is not sent to it.

use serde_json::Value;

use crate::withheld::unnamed_argument;
use crate::{Definition, ToolSchema};
use proxy_json::{RawRef, check_unique_keys};

/// Checks the arguments of a call against the approved definition.
///
/// # Errors
/// The reason for the caller.
pub(super) fn check_arguments(approved: &Definition, arguments: Option<&RawRef>) -> Result<(), String> {
    let tool = approved.key();
    let arguments = arguments.unwrap_or(RawRef::EMPTY_OBJECT);
    // The server must read what is checked here.
    check_unique_keys(arguments).map_err(|error| format!("invalid arguments for `{tool}`: {error}"))?;
    let value: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
    let schema = approved.member(ToolSchema::Input.member()).unwrap_or_default();
    if let Some(name) = unnamed_argument(&schema, &value) {
        return Err(format!(
            "invalid arguments for `{tool}`: there is no argument `{name}` in what was approved of the tool, which has \
             changed"
        ));
    }
    let Some(compiled) = approved.schema(ToolSchema::Input) else { return Ok(()) };
    compiled.check(&value).map_err(|mismatch| format!("invalid arguments for `{tool}`: {mismatch}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ItemKind;

    #[test]
    fn only_what_is_approved_is_sent() {
        let text =
            r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}"#;
        let approved = Definition::parse(ItemKind::Tool, proxy_json::valid(text.to_owned()).unwrap()).unwrap();
        let check = |arguments: &str| {
            let arguments = proxy_json::valid(arguments.to_owned()).unwrap();
            check_arguments(&approved, Some(&arguments))
        };
        assert_eq!(check(r#"{"a":"x"}"#), Ok(()));
        assert!(check(r#"{"a":"x","context":"all I know"}"#).unwrap_err().contains("no argument `context`"));
        assert!(check(r#"{"a":1}"#).is_err() && check("[]").is_err());
        assert!(check(r#"{"a":"x","a":"y"}"#).unwrap_err().contains("duplicate"));
        assert!(check_arguments(&approved, None).is_err(), "`a` is required");
    }
}
