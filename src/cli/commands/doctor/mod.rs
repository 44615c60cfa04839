//! `proxy doctor`: what is wrong with this installation, each with a fix. It changes nothing, and starts no server unless
//! that is asked for.

mod addresses;
mod apis;
mod boxes;
mod client_entry;
mod clients;
mod findings;
mod folders;
mod log_ins;
mod ports;
mod program;
mod programs;
mod started;
mod store;

use clap::Args;

use super::instance::running_instances;
use crate::cli::failure::CommandFailure;
use crate::cli::query;
use crate::cli::setup::{LoadedConfig, SourceArgs};
use findings::Findings;
use proxy_base::diagnostic::Diagnostic;
use proxy_model::operator_api::ProxyStatus;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Also start each server once
    #[arg(long)]
    start: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DoctorArgs) -> Result<(), CommandFailure> {
    let mut findings = Findings::default();
    let running: Vec<ProxyStatus> =
        running_instances().iter().filter_map(|instance| query::status(instance).ok()).collect();
    program::check(&running, &mut findings);
    let loaded = config(&args.source, &mut findings);
    if let Some(loaded) = &loaded {
        let config = &loaded.config;
        programs::check(config, &mut findings);
        apis::check(config, &mut findings);
        addresses::check(config, &mut findings)?;
        // What a command of the config would say is not known: it does not run here.
        let is_unread = |key: &str| config.unread.iter().any(|unread| unread.starts_with(key));
        if !is_unread("store.") && !is_unread("serve.stateKeys") {
            let mut of_store = Findings::default();
            store::check(config, &mut of_store)?;
            // It keeps the log-ins: without it nothing is known of them, and that is no fault of their own.
            if of_store.are_healthy() {
                log_ins::check(loaded, &mut findings)?;
            }
            findings.append(of_store);
        }
        ports::check(config, &running, &mut findings);
    }
    folders::check(&mut findings);
    boxes::check(loaded.as_ref().map(|loaded| &loaded.config), &mut findings);
    clients::check(&mut findings)?;
    if loaded.is_some() && args.start {
        started::check(args.source.clone(), &mut findings)?;
    }
    findings.print(args.json);
    if findings.are_healthy() { Ok(()) } else { Err(CommandFailure::already_reported(1)) }
}

/// The config, if it can be used.
fn config(source: &SourceArgs, findings: &mut Findings) -> Option<LoadedConfig> {
    const AREA: &str = "config";
    let told = |problem: &Diagnostic| {
        let place = problem.place.as_ref().map(|place| format!("{}: ", place.short())).unwrap_or_default();
        format!("{place}{}", problem.message)
    };
    let fix = |problem: &Diagnostic| problem.hint.clone().unwrap_or_else(|| "`proxy check` shows the place".to_owned());
    match source.load_with_warnings() {
        Err(failure) => {
            for problem in &failure.into_parts().1 {
                findings.broken(AREA, told(problem), fix(problem));
            }
            None
        }
        Ok((loaded, warnings)) => {
            for warning in &warnings {
                findings.warning(AREA, told(warning), fix(warning));
            }
            let count = crate::cli::table::count(loaded.config.servers.len(), "server");
            match &loaded.config.path {
                Some(path) => findings.ok(AREA, format!("{}, {count}", path.display())),
                None if loaded.bundled => findings.warning(
                    AREA,
                    "there is no config: clients get the built-in tools only",
                    "write one with `proxy init`, or move a client's servers into one with `proxy install CLIENT --import`",
                ),
                None => findings.ok(AREA, format!("{count} of the command line")),
            }
            Some(loaded)
        }
    }
}
