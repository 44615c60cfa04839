//! `proxy types`: the published tools as typed functions.

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::output;
use super::setup::{self, Source};
use crate::diagnostic::Diagnostic;
use crate::model::Definition;
use crate::typings;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The language
    #[arg(long, value_enum, default_value_t = Language::Ts)]
    lang: Language,
    /// Only tools whose names fit, such as 'github_*'
    #[arg(long, value_name = "GLOB")]
    filter: Option<String>,
    #[command(flatten)]
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// TypeScript: interfaces and async functions
    Ts,
    /// Starlark: one line for each tool, as scripts of code mode call it
    Star,
    /// The schemas of arguments and results, by tool
    JsonSchema,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let pattern = match arguments.filter.as_deref().map(glob::Pattern::new) {
        None => None,
        Some(Ok(pattern)) => Some(pattern),
        Some(Err(error)) => return Err(Failure::usage(format!("--filter is no pattern: {error}"))),
    };
    setup::with_gateway(&arguments.source, None, async |gateway, surface| {
        setup::report_missing(gateway);
        let fits = |tool: &&Definition| pattern.as_ref().is_none_or(|pattern| pattern.matches(tool.key()));
        let tools = || surface.tools().map(|entry| entry.definition.as_ref()).filter(fits);
        if tools().next().is_none() {
            let problem = Diagnostic::error("no published tool fits");
            return Err(Failure::failed(problem.hint("`proxy list-tools` lists what there is")));
        }
        match arguments.lang {
            Language::Ts => output::out(typings::typescript(tools()).trim_end()),
            Language::Star => output::out(&typings::signatures(tools())),
            Language::JsonSchema => output::json(&typings::json_schema(tools())),
        }
        Ok(())
    })
}
