//! Arguments on the command line: NAME=VALUE pairs, and a JSON object as text, from a file or from standard input.

use std::io::Read;

use clap::Args;
use serde_json::{Map, Value};

use crate::cli::failure::CommandFailure;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Arguments. VALUE is parsed as JSON, or is text if it is not valid JSON or a string is expected
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// JSON object with arguments, @FILE, or - for standard input; NAME=VALUE pairs are added to it
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
}

impl Arguments {
    /// Parses the arguments as far as possible without the schema of the item, so that malformed ones fail before any server
    /// is started.
    pub(super) fn read(&self) -> Result<ReadArguments<'_>, CommandFailure> {
        let object = match &self.args {
            Some(text) => match serde_json::from_str(&source(text)?) {
                Ok(Value::Object(object)) => object,
                Ok(_) => return Err(CommandFailure::usage("--args must be a JSON object")),
                Err(error) => return Err(CommandFailure::usage(format!("--args is not valid JSON: {error}"))),
            },
            None => Map::new(),
        };
        let pair = |pair| {
            let malformed = || CommandFailure::usage(format!("invalid argument `{pair}`: write it as NAME=VALUE"));
            str::split_once(pair, '=').ok_or_else(malformed)
        };
        let pairs = self.pairs.iter().map(String::as_str).map(pair).collect::<Result<_, _>>()?;
        Ok(ReadArguments { object, pairs })
    }
}

pub(super) struct ReadArguments<'a> {
    object: Map<String, Value>,
    pairs: Vec<(&'a str, &'a str)>,
}

impl ReadArguments<'_> {
    /// All arguments. The values of pairs are parsed as JSON, except where `is_text` returns true.
    pub(super) fn values(self, is_text: impl Fn(&str) -> bool) -> Map<String, Value> {
        let mut values = self.object;
        for (name, text) in self.pairs {
            let value = if is_text(name) { None } else { serde_json::from_str(text).ok() };
            values.insert(name.to_owned(), value.unwrap_or_else(|| Value::from(text)));
        }
        values
    }
}

fn source(text: &str) -> Result<String, CommandFailure> {
    let failed =
        |what: &str, error: std::io::Error| CommandFailure::usage(format!("--args: cannot read {what}: {error}"));
    if text == "-" {
        let mut input = String::new();
        std::io::stdin().read_to_string(&mut input).map_err(|error| failed("standard input", error))?;
        return Ok(input);
    }
    match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| failed(&format!("`{file}`"), error)),
        None => Ok(text.to_owned()),
    }
}
