//! Substitution of `${VAR}`, `${VAR:-default}`, the sources such as `${file:PATH}`, and `$$` in strings.

use super::mask::sounds_secret;
use super::sources::{Source, SourceProblem};

pub use super::variable_lookup::VariableLookup;

/// The value of a source; `None` to leave it as it is written.
pub(crate) type SourceLookup<'a> = dyn FnMut(&Source) -> Result<Option<String>, SourceProblem> + 'a;

/// Why a substitution failed. Never contains the value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubstitutionError {
    Unset(String),
    /// `${input:...}`, with which VS Code prompts for a value.
    Input(String),
    /// `${env:...}`, the syntax of VS Code and Cursor.
    EnvironmentPrefix(String),
    /// The text between the braces is not a variable name. The text is not kept, because it may be part of a password.
    NotAName,
    Unclosed,
    /// A source has no value.
    Source(SourceProblem),
}

impl SubstitutionError {
    pub(crate) fn message(&self) -> String {
        match self {
            SubstitutionError::Unset(name) => format!("the environment variable `{name}` is not set"),
            SubstitutionError::Input(name) => {
                format!("`${{input:{name}}}` is a prompt of VS Code; the proxy cannot prompt for values")
            }
            SubstitutionError::EnvironmentPrefix(name) => format!("`${{env:{name}}}` is not supported"),
            SubstitutionError::NotAName => "the text between `${` and `}` is not a variable name".to_owned(),
            SubstitutionError::Unclosed => "unclosed `${`".to_owned(),
            SubstitutionError::Source(problem) => problem.message.clone(),
        }
    }

    pub(crate) fn hint(&self) -> String {
        match self {
            // A default for a secret would be a secret in the file.
            SubstitutionError::Unset(name) if name.split('_').any(sounds_secret) => {
                "set it before the proxy starts".to_owned()
            }
            SubstitutionError::Unset(name) => format!("set it, or give a default: `${{{name}:-default}}`"),
            SubstitutionError::Input(name) => {
                format!("set an environment variable instead and write `${{{}}}`", variable_name(name))
            }
            SubstitutionError::EnvironmentPrefix(name) => format!("write `${{{name}}}`"),
            SubstitutionError::Source(problem) => problem.hint.clone(),
            SubstitutionError::NotAName | SubstitutionError::Unclosed => {
                "write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar sign".to_owned()
            }
        }
    }
}

/// Replaces the variables and the sources in a text, or returns all errors. A value is not looked at again.
pub(crate) fn substitute(
    text: &str,
    environment: &VariableLookup,
    sources: &mut SourceLookup,
) -> Result<String, Vec<SubstitutionError>> {
    let mut output = String::with_capacity(text.len());
    let mut problems = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        output.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            output.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let Some((expression, after)) = after.split_once('}') else {
                problems.push(SubstitutionError::Unclosed);
                break;
            };
            let value = match Source::parse(expression) {
                Some(_) if expression.contains("${") => Err(SubstitutionError::Source(nested())),
                Some(source) => match sources(&source) {
                    Ok(value) => Ok(value.unwrap_or_else(|| format!("${{{expression}}}"))),
                    Err(problem) => Err(SubstitutionError::Source(problem)),
                },
                None => variable(expression, environment),
            };
            match value {
                Ok(value) => output.push_str(&value),
                Err(problem) => problems.push(problem),
            }
            rest = after;
        } else {
            output.push('$');
        }
    }
    output.push_str(rest);
    if problems.is_empty() { Ok(output) } else { Err(problems) }
}

fn nested() -> SourceProblem {
    let hint = "write the path or the command itself; `${exec:sh -c '…'}` gives a command the variables of the proxy";
    SourceProblem::new("`${` inside of `${file:…}`, `${credential:…}` or `${exec:…}` is not replaced", hint)
}

/// The sources in a text, in order.
pub(crate) fn sources_in(text: &str) -> Vec<Source<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
        } else if let Some((expression, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            found.extend(Source::parse(expression));
            rest = after;
        }
    }
    found
}

/// A `$NAME` without braces, which is plain text here but a variable in other programs. Counts only upper-case names and
/// variables that are set, because anything else may be part of a password.
pub(crate) fn bare_variable<'a>(text: &'a str, environment: &VariableLookup) -> Option<&'a str> {
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            continue;
        }
        let end = rest.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
        let name = &rest[..end.unwrap_or(rest.len())];
        let is_in_capitals = name.len() > 1 && !name.contains(|character: char| character.is_ascii_lowercase());
        if is_variable_name(name) && (is_in_capitals || environment(name).is_some()) {
            return Some(name);
        }
    }
    None
}

fn variable(expression: &str, environment: &VariableLookup) -> Result<String, SubstitutionError> {
    if let Some(name) = expression.strip_prefix("input:") {
        return Err(SubstitutionError::Input(name.to_owned()));
    }
    if let Some(name) = expression.strip_prefix("env:").filter(|name| is_variable_name(name)) {
        return Err(SubstitutionError::EnvironmentPrefix(name.to_owned()));
    }
    let (name, default) = match expression.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (expression, None),
    };
    if !is_variable_name(name) || default.is_some_and(|default| default.contains("${")) {
        return Err(SubstitutionError::NotAName);
    }
    match (environment(name), default) {
        // As in a shell, `:-` also applies to a variable that is set but empty.
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(SubstitutionError::Unset(name.to_owned())),
    }
}

pub(crate) fn is_variable_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// The conventional variable name for an identifier: `api-key` becomes `API_KEY`.
pub(crate) fn variable_name(text: &str) -> String {
    let mut name = String::new();
    let mut after_lower = false;
    for character in text.chars() {
        if character.is_ascii_uppercase() && after_lower {
            name.push('_');
        }
        name.push(if character.is_ascii_alphanumeric() { character.to_ascii_uppercase() } else { '_' });
        after_lower = character.is_ascii_lowercase();
    }
    if is_variable_name(&name) { name } else { format!("INPUT_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("abc".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    fn filled(text: &str) -> Result<String, Vec<SubstitutionError>> {
        substitute(text, &environment, &mut |source| match source {
            Source::File("token") => Ok(Some("${TOKEN}".to_owned())),
            Source::File(name) => Err(SourceProblem::new(format!("no {name}"), "")),
            _ => Ok(None),
        })
    }

    #[test]
    fn variables_defaults_and_dollars() {
        assert_eq!(filled("Bearer ${TOKEN}!").unwrap(), "Bearer abc!");
        assert_eq!(filled("${NONE:-a:-b}${NONE:-}").unwrap(), "a:-b");
        assert_eq!(filled("[${EMPTY}] ${EMPTY:-x}").unwrap(), "[] x");
        assert_eq!(filled("$$5 costs $5 $${TOKEN} $").unwrap(), "$5 costs $5 ${TOKEN} $");
    }

    #[test]
    fn every_unset_variable_is_named() {
        let problems = filled("${A} ${B}").unwrap_err();
        assert_eq!(problems, [SubstitutionError::Unset("A".to_owned()), SubstitutionError::Unset("B".to_owned())]);
        assert_eq!(problems[0].message(), "the environment variable `A` is not set");
    }

    #[test]
    fn values_of_sources_are_not_replaced_again() {
        assert_eq!(filled("a ${file:token} ${TOKEN}").unwrap(), "a ${TOKEN} abc");
        assert_eq!(filled("$${file:token} ${exec:op read x}").unwrap(), "${file:token} ${exec:op read x}");
        assert_eq!(filled("${file:none}").unwrap_err()[0].message(), "no none");
        assert!(filled("${file:${TOKEN}}").unwrap_err()[0].message().contains("is not replaced"));
        let found = sources_in("$${file:a} ${file:b}${credential:c} ${X} ${exec:d e} ${file:f");
        assert_eq!(found, [Source::File("b"), Source::Credential("c"), Source::Command("d e")]);
    }

    #[test]
    fn forms_of_other_programs_say_what_to_write() {
        assert!(filled("${input:api-key}").unwrap_err()[0].hint().contains("`${API_KEY}`"));
        assert!(filled("${NONE}").unwrap_err()[0].hint().contains("give a default"));
        assert_eq!(filled("${API_TOKEN}").unwrap_err()[0].hint(), "set it before the proxy starts");
        assert_eq!(filled("${env:HOME}").unwrap_err()[0].hint(), "write `${HOME}`");
        assert!(filled("${a b}").unwrap_err()[0].hint().contains("`$$`"));
        assert_eq!(filled("${A").unwrap_err(), [SubstitutionError::Unclosed]);
        assert_eq!(filled("${A:-${B}").unwrap_err(), [SubstitutionError::NotAName]);
    }

    #[test]
    fn a_name_without_braces_is_noticed() {
        let bare = |text| bare_variable(text, &environment);
        for text in ["$TOKEN", "a/$MY_DIR/b", "$$$TOKEN", "${TOKEN}$OTHER"] {
            assert!(bare(text).is_some(), "{text}");
        }
        for text in ["$$TOKEN", "${TOKEN}", "$5", "pa$word", "^a$", "$", "$A", "$$"] {
            assert_eq!(bare(text), None, "{text}");
        }
    }

    #[test]
    fn names_become_variables() {
        assert_eq!(variable_name("perplexity-key"), "PERPLEXITY_KEY");
        assert_eq!(variable_name("githubToken"), "GITHUB_TOKEN");
        assert_eq!(variable_name("1st"), "INPUT_1ST");
    }
}
