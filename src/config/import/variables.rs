//! Translates the variable syntax of other programs.

use crate::config::syntax::substitute::{is_variable_name, variable_name};

/// A translated string, and the variables that a person has to take care of.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Translated {
    pub text: String,
    /// Variables that VS Code prompts for.
    pub prompted: Vec<String>,
    /// Variables that only the other program knows, left as plain text.
    pub unknown: Vec<String>,
}

/// Translates `${input:x}` and `${env:X}` to `${X}`, keeps variables in capitals, and escapes every other dollar sign.
pub(super) fn translate(text: &str) -> Translated {
    let mut output = Translated::default();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        output.text.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        let braced = rest.strip_prefix('{').and_then(|after| after.split_once('}'));
        match braced {
            Some((expression, after)) => {
                output.expression(expression);
                rest = after;
            }
            None => output.text.push_str("$$"),
        }
    }
    output.text.push_str(rest);
    output
}

impl Translated {
    fn expression(&mut self, expression: &str) {
        let name = expression.split_once(":-").map_or(expression, |(name, _)| name);
        if let Some(prompted) = expression.strip_prefix("input:") {
            let name = variable_name(prompted);
            self.text.push_str(&format!("${{{name}}}"));
            self.prompted.push(name);
        } else if let Some(name) = expression.strip_prefix("env:").filter(|name| is_variable_name(name)) {
            self.text.push_str(&format!("${{{name}}}"));
        } else if is_variable_name(name) && !name.contains(|character: char| character.is_ascii_lowercase()) {
            self.text.push_str(&format!("${{{expression}}}"));
        } else {
            self.text.push_str(&format!("$${{{expression}}}"));
            self.unknown.push(expression.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        translate(text).text
    }

    #[test]
    fn foreign_variables_take_our_form() {
        assert_eq!(text("Bearer ${input:api-key}"), "Bearer ${API_KEY}");
        assert_eq!(text("${env:HOME}/x"), "${HOME}/x");
        assert_eq!(text("${TOKEN} ${TOKEN:-none}"), "${TOKEN} ${TOKEN:-none}");
        assert_eq!(text("pa$$word$ ${open"), "pa$$$$word$$ $${open");
        assert_eq!(text("${workspaceFolder}/a"), "$${workspaceFolder}/a");
        assert_eq!(translate("${workspaceFolder}").unknown, ["workspaceFolder"]);
        assert_eq!(translate("${input:api-key}").prompted, ["API_KEY"]);
    }
}
