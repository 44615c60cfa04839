//! Translates the variable syntax of other programs.

use crate::syntax::substitute::{is_variable_name, variable_name};

/// The variables that a program knows in its strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    /// `${NAME}`, `${env:NAME}`, `${input:name}` and the variables of VS Code.
    braces: bool,
    /// Any name between braces is an environment variable, not only one in capitals.
    any_case: bool,
    /// `$NAME`.
    bare: bool,
    /// `{env:NAME}`.
    curly: bool,
    /// `${{ secrets.NAME }}`.
    secrets: bool,
}

impl Syntax {
    pub(super) const NONE: Syntax =
        Syntax { braces: false, any_case: false, bare: false, curly: false, secrets: false };
    pub(super) const BRACES: Syntax = Syntax { braces: true, ..Syntax::NONE };
    pub(super) const SHELL_BRACES: Syntax = Syntax { any_case: true, ..Syntax::BRACES };
    pub(super) const SHELL: Syntax = Syntax { bare: true, ..Syntax::SHELL_BRACES };
    pub(super) const CURLY: Syntax = Syntax { curly: true, ..Syntax::NONE };
    pub(super) const SECRETS: Syntax = Syntax { secrets: true, ..Syntax::NONE };
}

/// A value that VS Code prompts for.
#[derive(Clone, Debug, Default)]
pub(super) struct InputPrompt {
    pub id: String,
    pub description: String,
    pub default: Option<String>,
}

/// The values of variables.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    pub syntax: Syntax,
    /// What `${workspaceFolder}` stands for.
    pub workspace: String,
    pub prompts: Vec<InputPrompt>,
    /// Variables whose values the server's own entry sets.
    pub local: Vec<(String, String)>,
}

/// A translated string, and notes about variables that the user has to set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Translated {
    pub text: String,
    /// What to set, as sentences.
    pub notes: Vec<String>,
    /// Variables that only the other program knows, left as plain text.
    pub unknown: Vec<String>,
    /// Variables that differ for each workspace there, and are replaced by their values.
    pub fixed: Vec<FixedVariable>,
    /// Values that the other program asks for or keeps.
    pub needed: Vec<NeededVariable>,
}

/// A variable that differs for each workspace in the other program, and its value for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedVariable {
    pub written: String,
    pub value: String,
}

/// An environment variable without a value, unless somebody sets it.
#[derive(Clone, Debug, PartialEq)]
pub struct NeededVariable {
    pub name: String,
    /// Why it has none: `VS Code prompts for it`.
    pub why: String,
}

impl Variables {
    /// Writes every variable in our form, and escapes every other dollar sign.
    pub(super) fn translate(&self, text: &str) -> Translated {
        let mut output = Translated::default();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{']) {
            output.text.push_str(&rest[..at]);
            let found = &rest[at..];
            rest = match self.variable(found, &mut output) {
                Some(after) => after,
                None => {
                    output.text.push_str(if found.starts_with('$') { "$$" } else { "{" });
                    &found[1..]
                }
            };
        }
        output.text.push_str(rest);
        output
    }

    /// Translates the variable at the beginning of the text, and returns what follows it.
    fn variable<'a>(&self, text: &'a str, output: &mut Translated) -> Option<&'a str> {
        if self.syntax.secrets
            && let Some((expression, after)) = between(text, "${{", "}}")
        {
            let expression = expression.trim();
            match expression.strip_prefix("secrets.").filter(|name| is_variable_name(name)) {
                Some(name) => {
                    output.notes.push(format!("a Continue secret: set the environment variable {name}"));
                    output
                        .needed
                        .push(NeededVariable { name: name.to_owned(), why: "it is a Continue secret".to_owned() });
                    output.text.push_str(&format!("${{{name}}}"));
                }
                None => output.leave("${{", expression, "}}"),
            }
            return Some(after);
        }
        if let Some((expression, after)) = between(text, "${", "}") {
            if self.syntax.braces {
                self.braced(expression, output);
                return Some(after);
            }
            return None;
        }
        if let Some((expression, after)) = between(text, "{env:", "}").filter(|_| self.syntax.curly) {
            if is_variable_name(expression) {
                output.text.push_str(&format!("${{{expression}}}"));
            } else {
                output.leave("{env:", expression, "}");
            }
            return Some(after);
        }
        if let Some((expression, after)) = between(text, "{file:", "}").filter(|_| self.syntax.curly) {
            output.leave("{file:", expression, "}");
            return Some(after);
        }
        let name = text.strip_prefix('$').filter(|_| self.syntax.bare)?;
        let end = name.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
        let (name, after) = name.split_at(end.unwrap_or(name.len()));
        if !is_variable_name(name) {
            return None;
        }
        self.environment(name, name, output);
        Some(after)
    }

    fn braced(&self, expression: &str, output: &mut Translated) {
        let name = expression.split_once(":-").map_or(expression, |(name, _)| name);
        let is_plain = is_variable_name(name);
        let is_known = self.syntax.any_case || !name.contains(|character: char| character.is_ascii_lowercase());
        if let Some(id) = expression.strip_prefix("input:") {
            self.prompt(id, output);
        } else if let Some(name) = expression.strip_prefix("env:").filter(|name| is_variable_name(name)) {
            output.text.push_str(&format!("${{{name}}}"));
        } else if let Some(value) = self.of_workspace(expression) {
            output.text.push_str(&value.replace('$', "$$"));
            output.fixed.push(FixedVariable { written: format!("${{{expression}}}"), value: value.to_owned() });
        } else if let Some(text) = predefined(expression) {
            output.text.push_str(text);
        } else if is_plain && is_known {
            self.environment(name, expression, output);
        } else {
            output.leave("${", expression, "}");
        }
    }

    fn environment(&self, name: &str, expression: &str, output: &mut Translated) {
        match self.local.iter().find(|(local, _)| local == name) {
            Some((_, value)) => output.text.push_str(&value.replace('$', "$$")),
            None => output.text.push_str(&format!("${{{expression}}}")),
        }
    }

    fn prompt(&self, id: &str, output: &mut Translated) {
        let name = variable_name(id);
        let prompt = self.prompts.iter().find(|prompt| prompt.id == id);
        let default = prompt.and_then(|prompt| prompt.default.as_deref());
        match default.filter(|default| !default.contains(['$', '}'])) {
            Some(default) => output.text.push_str(&format!("${{{name}:-{default}}}")),
            None => {
                output.text.push_str(&format!("${{{name}}}"));
                output.needed.push(NeededVariable { name: name.clone(), why: "VS Code prompts for it".to_owned() });
            }
        }
        let about = prompt.map(|prompt| prompt.description.as_str()).filter(|about| !about.is_empty());
        let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
        output.notes.push(format!("VS Code prompts for this value{about}: set the environment variable {name}"));
    }

    /// The values of the variables of VS Code and Cursor that differ for each workspace.
    fn of_workspace(&self, name: &str) -> Option<&str> {
        let folder = self.workspace.as_str();
        match name {
            "workspaceFolder" | "workspaceRoot" | "cwd" => Some(folder),
            "workspaceFolderBasename" => folder.rsplit('/').next(),
            _ => None,
        }
    }
}

/// The other predefined variables of VS Code and Cursor.
fn predefined(name: &str) -> Option<&'static str> {
    match name {
        "userHome" => Some("${HOME}"),
        "pathSeparator" | "/" => Some("/"),
        _ => None,
    }
}

impl Translated {
    fn leave(&mut self, open: &str, expression: &str, close: &str) {
        let written = format!("{open}{expression}{close}");
        self.text.push_str(&written.replace('$', "$$"));
        self.unknown.push(written);
    }
}

/// The text between two marks at the beginning, and what follows.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(open)?.split_once(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(syntax: Syntax) -> Variables {
        let prompt =
            InputPrompt { id: "region".to_owned(), description: "Where".to_owned(), default: Some("eu".to_owned()) };
        Variables { syntax, workspace: "/home/me/a".to_owned(), prompts: vec![prompt], local: Vec::new() }
    }

    fn text(syntax: Syntax, text: &str) -> String {
        variables(syntax).translate(text).text
    }

    #[test]
    fn foreign_variables_take_our_form() {
        let braces = |written| text(Syntax::BRACES, written);
        assert_eq!(braces("Bearer ${input:api-key} ${input:region}"), "Bearer ${API_KEY} ${REGION:-eu}");
        assert_eq!(braces("${env:HOME}/x"), "${HOME}/x");
        assert_eq!(braces("${TOKEN} ${TOKEN:-none}"), "${TOKEN} ${TOKEN:-none}");
        assert_eq!(braces("pa$$word$ ${open"), "pa$$$$word$$ $${open");
        assert_eq!(braces("${workspaceFolder}/${workspaceFolderBasename}${/}x"), "/home/me/a/a/x");
        assert_eq!(braces("${userHome}/x $NAME"), "${HOME}/x $$NAME");
        assert_eq!(braces("${command:x}"), "$${command:x}");
        assert_eq!(variables(Syntax::BRACES).translate("${file}").unknown, ["${file}"]);
        let notes = variables(Syntax::BRACES).translate("${input:region}").notes;
        assert_eq!(notes, ["VS Code prompts for this value (Where): set the environment variable REGION"]);
        let needed = |written| variables(Syntax::BRACES).translate(written).needed;
        assert_eq!(needed("${input:region}"), [], "it has a default");
        assert_eq!(needed("${input:api-key}")[0].name, "API_KEY");
    }

    #[test]
    fn every_client_has_its_own_syntax() {
        assert_eq!(text(Syntax::NONE, "${A} $B {env:C}"), "$${A} $$B {env:C}");
        assert_eq!(text(Syntax::SHELL, "$a/${b}$ $1"), "${a}/${b}$$ $$1");
        assert_eq!(text(Syntax::CURLY, "{env:A}-{b} ${C}"), "${A}-{b} $${C}");
        assert_eq!(variables(Syntax::CURLY).translate("{file:~/x}").unknown, ["{file:~/x}"]);
        assert_eq!(text(Syntax::SECRETS, "${{ secrets.KEY }} ${{ inputs.x }}"), "${KEY} $${{inputs.x}}");
    }
}
