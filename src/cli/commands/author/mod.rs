//! `proxy author`: an MCP server on standard input and output for models that write scripts. What a model has written runs in
//! child processes only, which can read a copy of the folder's scripts and compute.

mod answer;
mod arguments;
mod catalog;
mod child;
mod config_files;
mod diff;
mod folder;
mod folder_copy;
mod instructions;
mod loaded_by_extensions;
mod reference;
mod save;
mod script_path;
mod server;
mod tool_list;
mod tools;

use std::path::PathBuf;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::setup;
use proxy_base::diagnostic::Diagnostic;

pub(in crate::cli) use catalog::{COMMAND as CATALOG, run as print_catalog};
use folder::PolicyFolder;

#[derive(Debug, Args)]
pub(crate) struct AuthorArgs {
    /// The folder with the config and its scripts [default: the current folder]
    folder: Option<PathBuf>,
    /// Config file in the folder [default: proxy.yaml, proxy.json]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Write scripts for this profile of the config
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

pub(super) fn run(args: &AuthorArgs) -> Result<(), CommandFailure> {
    let folder = args.folder.clone().unwrap_or_else(|| ".".into());
    let folder = PolicyFolder::open(&folder, args.config.as_deref(), args.profile.as_deref());
    let folder = folder.map_err(CommandFailure::config)?;
    folder_copy::delete_abandoned();
    let runtime = setup::runtime()?;
    let served = runtime.block_on(server::serve(folder));
    // A thread may still block in a read of standard input; do not wait for it.
    runtime.shutdown_background();
    served.map_err(|problem| CommandFailure::failed(Diagnostic::error(problem)))
}
