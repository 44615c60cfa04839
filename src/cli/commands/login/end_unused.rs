//! `proxy logout --unused`: ends the log-ins that the config has no use for. A log-in that may be used stays.

use std::io::IsTerminal;

use tokio::runtime::Runtime;

use super::log_out::{disconnected, line, show};
use super::{LogoutArgs, audit, failure, unused};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::asked;
use crate::cli::{output, spinner, table};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::Config;
use proxy_identity::oauth::{LeftLogIns, LogInError, LogIns, LogOutReport, UncertainLogIn, UnusedLogIn};
use proxy_model::Who;

pub(super) fn run(
    args: &LogoutArgs,
    runtime: &Runtime,
    log_ins: &LogIns,
    config: &Config,
) -> Result<(), CommandFailure> {
    let entry = args.server.as_deref();
    let left = runtime.block_on(log_ins.left(config)).map_err(|error| failure(&error))?;
    let LeftLogIns { unused, uncertain } = of_entry(left, entry);
    output::diagnostics(&uncertain.iter().map(stays).collect::<Vec<_>>());
    if unused.is_empty() {
        let of = entry.map(|entry| format!(" for `{entry}`")).unwrap_or_default();
        output::out(&output::one_line(&format!("there is no unused authorization{of}")));
        return Ok(());
    }
    if entry.is_none() && !args.yes && !confirmed(&unused)? {
        output::err("nothing was ended");
        return Err(CommandFailure::already_reported(1));
    }
    let ended = runtime.block_on(async {
        let ended = spinner::with("revoking unused authorizations", end(log_ins, &unused)).await;
        log_ins.drain().await;
        ended
    });
    for (log_in, report) in &ended.done {
        let why = unused::why(log_in);
        show(report, &format!("{}{} ({why})", line(&log_in.entry, report), of_person(log_in.who.as_ref())));
    }
    let of_people = ended.done.iter().filter_map(|(log_in, _)| Some(disconnected(&log_in.entry, log_in.who.as_ref()?)));
    audit::note(config, &of_people.collect::<Vec<_>>());
    ended.stopped.map_or(Ok(()), |error| Err(failure(&error)))
}

/// What was ended before something failed.
struct Ended<'a> {
    done: Vec<(&'a UnusedLogIn, LogOutReport)>,
    stopped: Option<LogInError>,
}

async fn end<'a>(log_ins: &LogIns, unused: &'a [UnusedLogIn]) -> Ended<'a> {
    let mut ended = Ended { done: Vec::new(), stopped: None };
    for log_in in unused {
        match log_ins.end_unused(log_in).await {
            Ok(report) => ended.done.push((log_in, report)),
            Err(error) => {
                ended.stopped = Some(error);
                break;
            }
        }
    }
    ended
}

fn of_entry(left: LeftLogIns, entry: Option<&str>) -> LeftLogIns {
    let is_meant = |name: &str| entry.is_none_or(|entry| *entry == *name);
    LeftLogIns {
        unused: left.unused.into_iter().filter(|log_in| is_meant(&log_in.entry)).collect(),
        uncertain: left.uncertain.into_iter().filter(|log_in| is_meant(&log_in.entry)).collect(),
    }
}

/// Says that a log-in stays, and why.
fn stays(log_in: &UncertainLogIn) -> Diagnostic {
    let person = of_person(log_in.who.as_ref());
    let place = format!("`{}`{person}", log_in.entry);
    Diagnostic::warning(format!("the authorization at {place} stays, because it may be in use: {}", log_in.why))
        .hint("run the command again where this value is known")
}

fn of_person(who: Option<&Who>) -> String {
    who.map(|who| format!(" for {}", who.sub)).unwrap_or_default()
}

/// Shows what would be ended, and asks. Another config file may use it.
fn confirmed(unused: &[UnusedLogIn]) -> Result<bool, CommandFailure> {
    for log_in in unused {
        let person = of_person(log_in.who.as_ref());
        output::err(&output::one_line(&format!("`{}`{person}: {}", log_in.entry, unused::why(log_in))));
    }
    if !std::io::stdin().is_terminal() {
        let problem = "standard input is not a terminal: name a server, or pass --yes to end all of them";
        return Err(CommandFailure::usage(problem));
    }
    let count = table::count(unused.len(), "authorization");
    let question = format!("end {count}? Another config file may use them. [y/N] ");
    Ok(matches!(asked(&question)?.as_str(), "y" | "Y" | "yes"))
}
