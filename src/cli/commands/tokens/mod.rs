//! `proxy tokens`: what the tool definitions cost a model, by server, by tool and with each preset.

mod presets;
mod report;

use clap::Args;

use crate::cli::commands::client_rows;
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, QueryArgs};
use crate::cli::{output, table};
use presets::{PublishedTool, Trial};
use proxy_base::grouped_digits::grouped;
use proxy_engine::surface::histories;
use report::{TokenReport, ToolTokens};

/// The number of tools in the table without `--top`.
const SHOWN_TOOLS: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    /// Number of tools to show, most expensive first [default: 10, with --json all]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Count the definitions as clients of a row of limits get them, such as `gemini-cli`
    #[arg(long, value_name = "ROW")]
    client: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &TokensArgs) -> Result<(), CommandFailure> {
    let loaded = args.query.load()?;
    let query = args.query.query(&loaded, args.json)?;
    let surface = query::answer(&query, async |answers| {
        let report = answers.report_with_histories().await?;
        query::report_missing(answers, &report);
        Ok(report)
    })?;
    let row = args.client.as_deref().map(|name| client_rows::row(&loaded, name)).transpose()?;
    let trial = Trial::new(&loaded.config, &surface, &query.user.principal, row)?;
    let mut report = match args.client {
        Some(_) => {
            let own = trial.own_surface()?;
            let histories = histories(&own, &trial.snapshot);
            TokenReport::new(&surface, &trial.published(&own), &histories, trial.presets())
        }
        None => {
            let published: Vec<PublishedTool> = report::tools(&surface.published).map(PublishedTool::of).collect();
            TokenReport::new(&surface, &published, &surface.histories, trial.presets())
        }
    };
    let shown = args.top.unwrap_or(if args.json { usize::MAX } else { SHOWN_TOOLS });
    report.tools.truncate(shown);
    if args.json {
        output::json(&report);
    } else {
        output::out(&rendered(&report));
    }
    query::unless_all_failed(&surface.servers)
}

fn rendered(report: &TokenReport) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for server in &report.servers {
        let offered = if server.server.is_empty() { String::new() } else { number(server.offered) };
        rows.push(vec![name(&server.server), offered, number(server.published)]);
    }
    rows.push(vec!["total".to_owned(), number(report.offered), number(report.published)]);
    let servers = table::render(&["SERVER", "OFFERED", "PUBLISHED"], &rows);
    let tools = table::render(&["TOOL", "SERVER", "OFFERED", "PUBLISHED"], &tool_rows(&report.tools));
    let presets = report.presets.iter().map(|preset| {
        let result = match (&preset.tokens, &preset.error) {
            (Some(tokens), _) => format!("{} for {}", number(*tokens), table::count(preset.tools, "tool")),
            (None, error) => format!("not possible: {}", error.as_deref().unwrap_or_default()),
        };
        vec![preset.preset.clone(), result]
    });
    let presets = table::render(&["PRESET", "RESULT"], &presets.collect::<Vec<_>>());
    let tables = [servers, tools, presets].map(|table| table.trim_end().to_owned());
    let shown: Vec<String> = tables.into_iter().filter(|table| !table.is_empty()).collect();
    shown.join("\n\n")
}

fn tool_rows(tools: &[ToolTokens]) -> Vec<Vec<String>> {
    let row = |tool: &ToolTokens| {
        let renamed = tool.published_as.as_deref().filter(|published| *published != tool.tool);
        let renamed = renamed.map(|published| format!(" as {published}")).unwrap_or_default();
        let tokens = |tokens: Option<usize>| tokens.map(number).unwrap_or_default();
        vec![format!("{}{renamed}", tool.tool), name(&tool.server), tokens(tool.offered), tokens(tool.published)]
    };
    tools.iter().map(row).collect()
}

/// The name of a server, or who made the tools that no server offers.
fn name(server: &str) -> String {
    if server.is_empty() { "(script)".to_owned() } else { server.to_owned() }
}

fn number(tokens: usize) -> String {
    grouped(tokens as u64)
}
