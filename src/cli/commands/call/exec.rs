//! `proxy exec SCRIPT`: runs a script over the published tools, as a model does in code mode.

use std::io::Read;
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::cli::query::{self, Query, QueryArgs};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::visible;

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Script file, or - for standard input
    #[arg(value_name = "SCRIPT", required_unless_present = "code", conflicts_with = "code")]
    file: Option<String>,
    /// The script itself, such as 'return search(query = "x")'
    #[arg(short = 'e', long = "eval", value_name = "CODE")]
    code: Option<String>,
    /// JSON object that the script can read as `data`
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print JSON with `result` and `printed`
    #[arg(long)]
    json: bool,
}

pub(in crate::cli::commands) fn run(args: &ExecArgs) -> Result<(), CommandFailure> {
    let data = match args.data.as_deref().map(serde_json::from_str::<Value>) {
        None => json!({}),
        Some(Ok(data @ Value::Object(_))) => data,
        Some(Ok(_)) => return Err(CommandFailure::usage("--data must be a JSON object")),
        Some(Err(error)) => return Err(CommandFailure::usage(format!("--data is not valid JSON: {error}"))),
    };
    let script = match &args.code {
        Some(code) => code.clone(),
        None => read_script(args.file.as_deref().unwrap_or("-"))?,
    };
    let loaded = args.query.load()?;
    let query = Query { runs_code: true, search_by_meaning: true, ..args.query.query(&loaded, args.json)? };
    let result = query::answer(&query, async |answers| {
        query::report_missing(answers, &answers.report().await?);
        answers.exec(&script, &data, &loaded.config.code_mode).await
    })?;
    show(&serde_json::from_str(result.get()).unwrap_or_default(), args.json)
}

fn read_script(script: &str) -> Result<String, CommandFailure> {
    if script != "-" {
        let problem = |error| Diagnostic::error(format!("cannot read `{script}`: {error}"));
        return std::fs::read_to_string(Path::new(script))
            .map_err(|error| CommandFailure::config(vec![problem(error)]));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

fn show(result: &Value, as_json: bool) -> Result<(), CommandFailure> {
    if result["isError"] == Value::Bool(true) {
        let reason = result["content"][0]["text"].as_str().unwrap_or_default();
        return Err(CommandFailure::failed(Diagnostic::error(reason)));
    }
    let structured = &result["structuredContent"];
    if as_json {
        output::json(structured);
        return Ok(());
    }
    if let Some(printed) = structured["printed"].as_str() {
        output::err(&visible(printed.trim_end_matches('\n')));
    }
    match &structured["result"] {
        Value::Null => {}
        Value::String(text) => output::data(text),
        value => output::json(value),
    }
    Ok(())
}
