//! `proxy logs`: shows what a server of a running proxy wrote to stderr.

use std::collections::HashMap;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

use super::instance;
use crate::cli::failure::CommandFailure;
use crate::cli::logging::{full_time, short_time};
use crate::cli::{output, query};
use proxy_base::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Name of the server
    #[arg(value_name = "SERVER")]
    server: String,
    /// Process id, if several running proxies have the server [default: of the config that is used here]
    #[arg(long)]
    pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &LogsArgs) -> Result<(), CommandFailure> {
    let (mut having, mut answers, mut refusals) = (Vec::new(), HashMap::new(), Vec::new());
    for instance in instance::all(args.pid)? {
        let answer = query::server_log(&instance, &args.server)?;
        if answer["lines"].is_array() {
            answers.insert(instance.pid, answer);
            having.push(instance);
        } else {
            refusals.push(answer);
        }
    }
    if having.is_empty() {
        return Err(refused(refusals.first().unwrap_or(&Value::Null)));
    }
    let chosen = instance::choose(having, &format!("several running proxies have a server `{}`", args.server))?;
    print(&answers[&chosen.pid], args.json);
    Ok(())
}

fn refused(answer: &Value) -> CommandFailure {
    let problem =
        Diagnostic::error(answer["error"].as_str().unwrap_or("the running proxy did not understand the request"));
    let hint = answer["hint"].as_str().unwrap_or("it may be of another version: start it again");
    CommandFailure::failed(problem.hint(hint))
}

fn print(answer: &Value, json: bool) {
    if json {
        return output::json(&answer["lines"]);
    }
    let lines = answer["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
    if lines.is_empty() {
        return output::err("the server has written nothing to standard error");
    }
    for line in lines {
        let time: Option<Timestamp> = line["time"].as_str().and_then(|time| time.parse().ok());
        let time = time.map(|time| if output::is_terminal() { short_time(time) } else { full_time(time) });
        let text = output::one_line(line["text"].as_str().unwrap_or_default()).into_owned();
        output::out(&format!("{} {text}", time.unwrap_or_default()));
    }
}
