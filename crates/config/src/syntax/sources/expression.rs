//! What stands between `${` and `}` when a value comes from elsewhere.

use std::path::{Path, PathBuf};

use crate::syntax::words::split_words;

/// Where a value comes from, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    /// `file:PATH`
    File(&'a str),
    /// `credential:NAME`
    Credential(&'a str),
    /// `exec:PROGRAM ARGS`
    Command(&'a str),
}

impl<'a> Source<'a> {
    pub(crate) fn parse(expression: &'a str) -> Option<Self> {
        let (kind, rest) = expression.split_once(':')?;
        // `${file:-x}` is the variable `file` with a default.
        if rest.starts_with('-') {
            return None;
        }
        let rest = rest.trim();
        match kind {
            "file" => Some(Source::File(rest)),
            "credential" => Some(Source::Credential(rest)),
            "exec" => Some(Source::Command(rest)),
            _ => None,
        }
    }
}

/// Why there is no value. It never contains the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceProblem {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl SourceProblem {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        SourceProblem { message: message.into(), hint: hint.into() }
    }
}

pub(super) fn file_path(written: &str, folder: &Path) -> Result<PathBuf, SourceProblem> {
    if written.is_empty() {
        return Err(SourceProblem::new("`${file:}` names no file", "write `${file:PATH}`"));
    }
    Ok(folder.join(written))
}

pub(super) fn credential_name(written: &str) -> Result<&str, SourceProblem> {
    let is_name = !written.is_empty() && !written.contains('/') && written != "." && written != "..";
    if is_name {
        return Ok(written);
    }
    let hint = "write `${credential:NAME}`, where NAME is the one in `LoadCredential=NAME:FILE`";
    Err(SourceProblem::new("`${credential:}` needs the name of a credential, without `/`", hint))
}

/// A command whose output is a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretCommand {
    /// A name, which is looked up in `PATH`, or an absolute path.
    pub program: String,
    pub args: Vec<String>,
}

impl SecretCommand {
    pub(super) fn parse(written: &str, folder: &Path) -> Result<Self, SourceProblem> {
        let hint =
            "write `${exec:PROGRAM ARGS}`: words as in a shell, of which quotes may hold spaces; no shell reads them";
        let Some(words) = split_words(written) else {
            return Err(SourceProblem::new("`${exec:}` has a quote that is not closed", hint));
        };
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return Err(SourceProblem::new("`${exec:}` names no program", hint));
        };
        let is_relative = program.contains('/') && Path::new(&program).is_relative();
        let program = if is_relative { folder.join(&program).to_string_lossy().into_owned() } else { program };
        Ok(SecretCommand { program, args: words.collect() })
    }

    pub(super) fn problem(&self, problem: &str) -> SourceProblem {
        let name = &self.program;
        let hint = "run it as the user of the proxy, without a terminal: its standard output has to be the value";
        SourceProblem::new(format!("the command `{name}` {problem}"), hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_before_a_colon_names_a_source() {
        assert_eq!(Source::parse("file: a b "), Some(Source::File("a b")));
        assert_eq!(Source::parse("credential:token"), Some(Source::Credential("token")));
        assert_eq!(Source::parse("exec:op read x"), Some(Source::Command("op read x")));
        for variable in ["file", "file:-x", "NAME:-file:x", "env:NAME", "FILE:x"] {
            assert_eq!(Source::parse(variable), None, "{variable}");
        }
    }

    #[test]
    fn a_command_is_words_and_a_path_is_relative_to_the_config() {
        let folder = Path::new("/etc/proxy");
        let parse = |written: &str| SecretCommand::parse(written, folder).map(|own| (own.program, own.args));
        assert_eq!(
            parse("op read 'a b'  $HOME").unwrap(),
            ("op".into(), vec!["read".into(), "a b".into(), "$HOME".into()])
        );
        assert_eq!(parse("./get token").unwrap().0, "/etc/proxy/./get");
        assert_eq!(parse("/bin/get").unwrap().0, "/bin/get");
        assert!(parse("").unwrap_err().message.contains("names no program"));
        assert!(parse("op 'x").unwrap_err().message.contains("a quote that is not closed"));
    }

    #[test]
    fn a_credential_is_a_file_in_its_folder() {
        for wrong in ["", "..", "a/b", "/etc/passwd"] {
            assert!(credential_name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(credential_name("github.token").unwrap(), "github.token");
    }
}
