//! `proxy lsp`: a language server for scripts on standard input and output.

use std::path::PathBuf;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::setup;
use proxy_author::lsp::{self, LspEnd, Workspace};

#[derive(Debug, Args)]
pub(crate) struct LspArgs {
    /// Config file that provides servers and tools for completion [default: the one in the workspace]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ignored: editors pass it, and the server always uses standard input and output
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(super) fn run(args: &LspArgs) -> Result<(), CommandFailure> {
    let folder = std::env::current_dir()?;
    let config = args.config.as_ref().map(|config| folder.join(config));
    let workspace = Workspace { config, folder, options: setup::options(false)? };
    let output = Box::new(std::io::stdout());
    match lsp::serve(std::io::stdin().lock(), output, workspace)? {
        LspEnd::Asked => Ok(()),
        LspEnd::Unasked => Err(CommandFailure::already_reported(1)),
    }
}
