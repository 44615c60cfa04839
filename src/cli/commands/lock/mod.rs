//! `proxy lock`: shows how the servers differ from what is approved, asks, and writes the lock.

mod asking;
mod findings;
mod json;
mod sarif;
mod selection;
mod shown;
mod words;
mod writing;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use crate::cli::terminal::asked;
use crate::cli::{output, table};
use findings::Findings;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{Config, ServerConfig};
use proxy_model::lock::{Lock, LockFile, LockedServer, SeenLists, ServerReview};
use selection::Selection;

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Servers, or items of servers: SERVER, SERVER/TOOL or SERVER/TOOL@sha256:DIGEST [default: all servers]
    #[arg(value_name = "SERVER[/TOOL]")]
    targets: Vec<String>,
    /// Approve without asking
    #[arg(short, long)]
    yes: bool,
    /// Only compare: exit code 0 if everything is as approved, else 1
    #[arg(long, conflicts_with = "yes")]
    check: bool,
    /// Also write what the scanner finds to this file, as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A server with what it lists, or the reason why it was not asked.
struct AskedServer {
    name: String,
    answer: Result<Answer, String>,
}

struct Answer {
    seen: Vec<SeenLists>,
    review: ServerReview,
    findings: Findings,
}

/// The lock and everything that it is compared with.
struct Work {
    path: PathBuf,
    lock: Lock,
    selection: Selection,
    asked: Vec<AskedServer>,
    /// The servers in the lock that the config no longer has.
    removed: Vec<String>,
}

pub(super) fn run(args: &LockArgs) -> Result<(), CommandFailure> {
    if !args.check && !args.yes && (args.json || !std::io::stdin().is_terminal()) {
        return Err(CommandFailure::usage_with_hint(
            "the question whether to approve cannot be asked here",
            "pass --yes to approve, or --check to compare only",
        ));
    }
    let loaded = args.source.load()?;
    let work = compare(&loaded.config, args)?;
    if args.json {
        output::json(&json::report(&work.path, &work.asked, &work.removed));
    } else {
        output::out(&shown::report(&work.asked, &work.removed));
    }
    if let Some(path) = &args.sarif {
        let log = sarif::log(&work.asked, &loaded.config);
        write(path, &format!("{log:#}\n"))?;
    }
    work.selection.check_digests(&work.asked)?;
    if args.check {
        return verdict(&work, args);
    }
    approve(&work, args)
}

fn compare(config: &Config, args: &LockArgs) -> Result<Work, CommandFailure> {
    let Some(path) = config.lock_path() else {
        return Err(CommandFailure::usage_with_hint(
            "there is no config file, and so no lock beside it",
            "`proxy init` writes a config file",
        ));
    };
    let file = config.read_lock().map_err(|error| CommandFailure::config(vec![*error]))?;
    let is_found = file.as_ref().is_some_and(|lock| lock.is_found);
    let file: Arc<LockFile> = file.map(|lock| lock.file).unwrap_or_default();
    // Every server is compared, also one that is not locked yet.
    let lock = config.lock_of(path.clone(), Some(file)).map(|lock| Lock { is_found, ..lock });
    let Some(lock) = lock else { return Err(CommandFailure::usage("there is nothing to lock")) };
    let selection = Selection::parse(&args.targets, config)?;
    let wanted: Vec<(&String, &ServerConfig)> =
        config.servers.iter().filter(|(name, server)| !server.disabled && selection.has_server(name)).collect();
    let answers = setup::runtime()?.block_on(asking::ask(config, &wanted))?;
    let asked = answers.into_iter().map(|(name, answer)| {
        let answer = answer.and_then(|seen| {
            let Some(rules) = lock.rules.get(&name) else {
                return Err("each caller has their own connection to it, so it cannot be locked".to_owned());
            };
            let review = selection.narrowed(&name, ServerReview::of(lock.file.servers.get(&name), &seen, rules));
            Ok(Answer { seen, review, findings: Findings::default() })
        });
        AskedServer { name, answer }
    });
    let mut asked: Vec<AskedServer> = asked.collect();
    findings::scan_all(&mut asked, &lock.file);
    let is_gone = |name: &&String| selection.is_all() && !config.servers.contains_key(*name);
    let removed = lock.file.servers.keys().filter(is_gone).cloned().collect();
    Ok(Work { path, lock, selection, asked, removed })
}

/// The exit code of `--check`.
fn verdict(work: &Work, args: &LockArgs) -> Result<(), CommandFailure> {
    let drifted = work.asked.iter().filter(|server| matches!(&server.answer, Ok(answer) if !answer.review.is_same()));
    let drifted = drifted.count();
    let silent = work.asked.iter().filter(|server| server.answer.is_err()).count();
    if drifted == 0 && silent == 0 {
        return Ok(());
    }
    if args.json {
        return Err(CommandFailure::already_reported(1));
    }
    let parts = [(drifted, "not as approved"), (silent, "could not be compared")];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> =
        parts.map(|(number, what)| format!("{} {what}", table::count(*number, "server"))).collect();
    let hint = "`proxy lock` approves what the servers list now";
    Err(CommandFailure::failed(Diagnostic::error(parts.join(", ")).hint(hint)))
}

fn approve(work: &Work, args: &LockArgs) -> Result<(), CommandFailure> {
    let mut servers: BTreeMap<String, LockedServer> = work.lock.file.servers.clone();
    servers.retain(|name, _| !work.removed.contains(name));
    let mut silent = Vec::new();
    for server in &work.asked {
        match &server.answer {
            Ok(answer) if work.lock.is_found && answer.review.is_same() => {}
            Ok(answer) => {
                let before = work.lock.file.servers.get(&server.name);
                let Some(rules) = work.lock.rules.get(&server.name) else { continue };
                let selects = |_, key: &str| work.selection.has_item(&server.name, key);
                let selects_info = work.selection.has_whole(&server.name);
                let approved = LockedServer::approving(before, &answer.seen, rules, &selects, selects_info);
                let approved = approved.map_err(|error| {
                    CommandFailure::failed(Diagnostic::error(format!("server `{}`: {error}", server.name)))
                })?;
                servers.insert(server.name.clone(), approved);
            }
            Err(reason) => silent.push(Diagnostic::error(format!("server `{}`: {reason}", server.name))),
        }
    }
    let text = LockFile { servers }.to_text();
    let is_same = std::fs::read_to_string(&work.path).is_ok_and(|before| before == text);
    let path = work.path.display();
    match () {
        () if is_same => output::err(&format!("`{path}` stays as it is")),
        () if !args.yes && !confirmed()? => {
            output::err("nothing was approved");
            return Err(CommandFailure::already_reported(1));
        }
        () => {
            write(&work.path, &text)?;
            output::err(&format!("wrote `{path}`"));
        }
    }
    if silent.is_empty() {
        return Ok(());
    }
    output::diagnostics(&silent);
    Err(CommandFailure::already_reported(1))
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let problem = |error| Diagnostic::error(format!("cannot write `{}`: {error}", path.display()));
    writing::replace(path, text).map_err(|error| CommandFailure::failed(problem(error)))
}

fn confirmed() -> Result<bool, CommandFailure> {
    Ok(matches!(asked("approve what the servers list? [y/N] ")?.as_str(), "y" | "Y" | "yes"))
}
