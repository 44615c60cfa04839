//! `proxy calls`: shows live calls of a running proxy, or one call in detail or as a test, and records complete calls in a
//! file.

mod as_test;
mod details;
mod filter;
mod line;
mod record;

use std::path::PathBuf;

use clap::Args;

use super::instance;
use crate::admin::{CallSummary, LiveEvent};
use crate::cli::failure::CommandFailure;
use crate::cli::{output, query};
use filter::CallFilter;
use proxy_base::control::Instance;
use proxy_base::foreign_text::json_visible;

#[derive(Debug, Args)]
pub(crate) struct CallsArgs {
    /// Id of a call, or the end of it: show the call in detail
    #[arg(value_name = "ID", group = "one_call", conflicts_with_all = ["follow", "filter"])]
    id: Option<String>,
    /// Record calls and show each one as soon as it ends, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// Show only calls with this server, name, user, client, method, outcome or ms; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = filter::parse)]
    filter: Vec<CallFilter>,
    /// Print a call as a test function for `proxy test`
    #[arg(long, value_name = "ID", group = "one_call", conflicts_with_all = ["follow", "filter", "json"])]
    as_test: Option<String>,
    /// With an id: show personal data and secrets in the data that was sent
    #[arg(long, requires = "one_call")]
    show_secrets: bool,
    /// Write complete calls to a new file for `proxy backtest`, until Ctrl-C
    #[arg(long, value_name = "FILE", conflicts_with_all = ["one_call", "follow", "filter", "json"])]
    record: Option<PathBuf>,
    /// With --record: do not ask for confirmation
    #[arg(long, requires = "record")]
    yes: bool,
    /// Process id, if several proxies are running [default: the proxy that serves the current config]
    #[arg(long)]
    pid: Option<u32>,
    /// Print JSON, one line for each call
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CallsArgs) -> Result<(), CommandFailure> {
    let running = instance::one(args.pid)?;
    if let Some(file) = &args.record {
        return record::run(&running, file, args.yes);
    }
    if let Some(id) = &args.as_test {
        return as_test::run(&running, id, args.show_secrets);
    }
    match &args.id {
        Some(id) => {
            let details = query::call_details(&running, id, args.show_secrets)?;
            if args.json {
                output::json(&details)
            } else {
                details::print(&details)
            }
            Ok(())
        }
        None if args.follow => follow(&running, args),
        None => list(&running, args),
    }
}

/// Lists the calls that were recorded while somebody followed them.
fn list(running: &Instance, args: &CallsArgs) -> Result<(), CommandFailure> {
    let (is_recording, calls) = query::calls(running)?;
    for call in calls.iter().filter(|call| wanted(args, call)) {
        if !print(args, call) {
            return Ok(());
        }
    }
    if calls.is_empty() && !output::is_quiet() {
        output::err(match is_recording {
            true => "no call has ended since recording began",
            false => "no calls were recorded: the proxy records calls only while somebody runs `proxy calls --follow`",
        });
    }
    Ok(())
}

fn follow(running: &Instance, args: &CallsArgs) -> Result<(), CommandFailure> {
    let begun = || {
        if !output::is_quiet() {
            output::err(&format!("following the calls of process {}; press Ctrl-C to stop", running.pid));
        }
    };
    query::follow(running, begun, |event| match event {
        LiveEvent::Call(call) => !wanted(args, &call) || print(args, &call),
        LiveEvent::Dropped(number) => {
            output::err(&format!("{number} calls were dropped: this command did not read them in time"));
            true
        }
        other => {
            // Beside the calls that somebody asked for, only a person is told.
            if let Some(text) = line::other_event(&other).filter(|_| !args.json && !output::is_quiet()) {
                output::err(&text);
            }
            true
        }
    })
}

fn wanted(args: &CallsArgs, call: &CallSummary) -> bool {
    args.filter.iter().all(|filter| filter.matches(call))
}

/// Prints a call on one line. Returns false if the reader has closed the pipe.
fn print(args: &CallsArgs, call: &CallSummary) -> bool {
    if args.json {
        let text = serde_json::to_string(call).unwrap_or_default();
        return output::line(&if output::is_terminal() { json_visible(&text).into_owned() } else { text });
    }
    output::line(&line::of_call(call))
}
