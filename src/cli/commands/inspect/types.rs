//! `proxy types`: prints the published tools as typed functions, or as a module that calls them.

use clap::{Args, ValueEnum};

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::cli::query::{self, QueryArgs};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::visible;
use proxy_code_mode::typings::{self, ClientTool, HeaderArgument};
use proxy_model::{Definition, ItemKind};
use proxy_wire::params::marked;

#[derive(Debug, Args)]
pub(crate) struct TypesArgs {
    /// Output language
    #[arg(long, value_enum, default_value_t = OutputLanguage::Ts)]
    lang: OutputLanguage,
    /// Print a module with functions that call the tools (languages ts and py)
    #[arg(long)]
    client: bool,
    /// Print only tools whose names match, such as 'github_*'
    #[arg(long, value_name = "GLOB")]
    filter: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputLanguage {
    /// TypeScript interfaces and async functions
    Ts,
    /// Python types and functions
    Py,
    /// Starlark signatures, one line per tool, as used in code mode
    Star,
    /// JSON Schemas of the arguments and results, by tool
    JsonSchema,
}

pub(in crate::cli::commands) fn run(args: &TypesArgs) -> Result<(), CommandFailure> {
    let pattern = match args.filter.as_deref().map(glob::Pattern::new) {
        None => None,
        Some(Ok(pattern)) => Some(pattern),
        Some(Err(error)) => return Err(CommandFailure::usage(format!("--filter is not a valid glob: {error}"))),
    };
    if args.client && !matches!(args.lang, OutputLanguage::Ts | OutputLanguage::Py) {
        return Err(CommandFailure::usage("--client is for `--lang ts` and `--lang py`"));
    }
    let loaded = args.query.load()?;
    let as_json = args.lang == OutputLanguage::JsonSchema;
    let query = args.query.query(&loaded, as_json)?;
    let report = query::answer(&query, async |answers| {
        let report = answers.report().await?;
        query::report_missing(answers, &report);
        Ok(report)
    })?;
    let matches = |tool: &&Definition| pattern.as_ref().is_none_or(|pattern| pattern.matches(tool.key()));
    let tools = || report.of_kind(ItemKind::Tool).map(|item| item.definition.as_ref()).filter(matches);
    if tools().next().is_none() {
        let problem = Diagnostic::error("no published tool matches");
        let hint = format!("`proxy list-tools{}` lists the published tools", query.user.option());
        return Err(CommandFailure::failed(problem.hint(hint)));
    }
    let called = || -> Vec<ClientTool<'_>> { tools().map(client_tool).collect() };
    match args.lang {
        OutputLanguage::Ts if args.client => output::out(&visible(typings::typescript_client(&called()).trim_end())),
        OutputLanguage::Py if args.client => output::out(&visible(typings::python_client(&called()).trim_end())),
        OutputLanguage::Py => output::out(&visible(typings::python(tools()).trim_end())),
        OutputLanguage::Ts => output::out(&visible(typings::typescript(tools()).trim_end())),
        OutputLanguage::Star => output::out(&visible(&typings::signatures(tools()))),
        OutputLanguage::JsonSchema => output::json(&typings::json_schema(tools())),
    }
    Ok(())
}

fn client_tool(definition: &Definition) -> ClientTool<'_> {
    // Invalid marks never reach a client.
    let marked = marked(&definition.member("inputSchema").unwrap_or_default()).unwrap_or_default();
    let headers = marked.into_iter().map(|param| HeaderArgument { path: param.path, suffix: param.suffix }).collect();
    ClientTool { definition, headers }
}
