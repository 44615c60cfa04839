//! What `command()` was given: the executable, its arguments, its input.

use std::path::{Component, Path};

use serde_json::{Map, Value as Json};

use super::argument_template::ArgumentTemplate;
use proxy_host_io::command::Command;
use proxy_script::ScriptError;

/// How an executable gets the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecutableInput {
    /// As one JSON object on standard input.
    Json,
    /// In place of the placeholders of the command. Standard input is empty.
    Placeholders,
}

impl ExecutableInput {
    pub(super) fn parse(stdin: &str) -> Result<Self, ScriptError> {
        match stdin {
            "json" => Ok(ExecutableInput::Json),
            "none" => Ok(ExecutableInput::Placeholders),
            other => Err(ScriptError::new(format!("`stdin` of command() is `{other}`"))
                .hint("use `\"json\"` for the arguments as JSON, or `\"none\"` for placeholders in the command")),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ExecutableSpec {
    pub(super) command: String,
    pub(super) args: Vec<ArgumentTemplate>,
    pub(super) input: ExecutableInput,
    pub(super) env: Vec<(String, String)>,
    /// In seconds.
    pub(super) timeout: f64,
}

impl ExecutableSpec {
    pub(super) fn new(
        argv: &[String],
        input: ExecutableInput,
        env: Vec<(String, String)>,
        timeout: f64,
    ) -> Result<Self, ScriptError> {
        let Some((command, args)) = argv.split_first().filter(|(command, _)| !command.is_empty()) else {
            return Err(ScriptError::new("command() takes a list whose first element is the executable")
                .hint("as in `command([\"./hello.sh\"])`"));
        };
        let template = match input {
            ExecutableInput::Json => ArgumentTemplate::literal,
            ExecutableInput::Placeholders => ArgumentTemplate::parse,
        };
        if template(command).placeholders().next().is_some() {
            return Err(ScriptError::new(format!("the executable `{command}` has a placeholder"))
                .hint("a call must not choose the executable; placeholders are for its arguments"));
        }
        let leaves = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
        if Path::new(command).components().any(leaves) {
            return Err(ScriptError::new(format!("the executable `{command}` is not in the folder of the extension"))
                .hint("use a path such as `./hello.sh`, or the name of a program in the `PATH`"));
        }
        let args = args.iter().map(|text| template(text)).collect();
        Ok(ExecutableSpec { command: command.clone(), args, input, env, timeout })
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.args.iter().flat_map(ArgumentTemplate::placeholders)
    }

    /// The command for a call. Fails with a text for the client if an argument would be taken for an option.
    pub(super) fn request(&self, arguments: &Map<String, Json>) -> Result<Command, String> {
        let mut args: Vec<String> = Vec::with_capacity(self.args.len());
        let (dashes, mut has_dashes) = (ArgumentTemplate::literal("--"), false);
        for template in &self.args {
            has_dashes |= *template == dashes;
            let argument = template.fill(arguments);
            if argument.contains('\0') {
                return Err("invalid arguments: a command cannot be given a NUL character".to_owned());
            }
            if let Some(name) = template.leading_placeholder()
                && argument.starts_with('-')
                && !has_dashes
            {
                return Err(format!(
                    "invalid arguments: `{name}` must not begin with `-`, because `{}` could take it for an option; to allow it, the extension puts \"--\" before `{{{name}}}` in its command()",
                    self.command
                ));
            }
            args.push(argument);
        }
        let stdin = match self.input {
            ExecutableInput::Json => Some(format!("{}\n", Json::Object(arguments.clone()))),
            ExecutableInput::Placeholders => None,
        };
        let (env, timeout) = (self.env.clone(), self.timeout);
        Ok(Command { command: self.command.clone(), args, stdin, env, timeout, ..Command::default() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(argv: &[&str], name: &str) -> Result<Vec<String>, String> {
        let argv: Vec<String> = argv.iter().map(|text| (*text).to_owned()).collect();
        let spec = ExecutableSpec::new(&argv, ExecutableInput::Placeholders, Vec::new(), 1.0).unwrap();
        spec.request(json!({ "name": name }).as_object().unwrap()).map(|command| command.args)
    }

    #[test]
    fn a_value_that_looks_like_an_option_needs_dashes_before_it() {
        assert_eq!(args(&["./x", "{name}"], "Ann").unwrap(), ["Ann"]);
        assert_eq!(args(&["./x", "--", "{name}"], "-rf").unwrap(), ["--", "-rf"]);
        assert_eq!(args(&["./x", "--name={name}"], "-rf").unwrap(), ["--name=-rf"]);
        for argv in [&["./x", "{name}"][..], &["./x", "{name}", "--"], &["./x", "{missing}{name}"], &["./x", "{name}x"]]
        {
            let refusal = args(argv, "-rf").unwrap_err();
            assert!(refusal.contains("must not begin with `-`"), "{refusal}");
        }
        // A value must not stand for the dashes.
        assert!(args(&["./x", "{name}", "{name}"], "--").is_err());
        assert!(args(&["./x", "-{name}", "{name}"], "-").is_err());
        assert!(args(&["./x", "{name}"], "a\0b").unwrap_err().contains("NUL"));
    }

    #[test]
    fn an_executable_is_a_file_of_the_folder_or_a_program_of_the_path() {
        let spec =
            |command: &str| ExecutableSpec::new(&[command.to_owned()], ExecutableInput::Placeholders, Vec::new(), 1.0);
        for command in ["./x.sh", "bin/x", "git", "./a/./b"] {
            assert!(spec(command).is_ok(), "{command}");
        }
        for command in ["", "/bin/sh", "../x.sh", "./a/../../x", "./{name}"] {
            assert!(spec(command).is_err(), "{command}");
        }
    }
}
