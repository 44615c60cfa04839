//! `proxy install` and `proxy uninstall`: the proxy as one of the servers in a client's own config, and back.

mod args;
mod claude_program;
mod client_file;
mod confirming;
mod diff;
mod import_log;
mod installing;
mod launcher;
mod links;
mod moved_servers;
mod own;
mod record;
mod uninstalling;

pub(super) use args::{InstallArgs, UninstallArgs};
pub(super) use own::is_ours;

use crate::cli::failure::CommandFailure;

pub(super) fn run(args: &InstallArgs) -> Result<(), CommandFailure> {
    match args.link {
        Some(link) => links::print(link, args),
        None => installing::run(args),
    }
}

pub(super) fn uninstall(args: &UninstallArgs) -> Result<(), CommandFailure> {
    uninstalling::run(args)
}
