//! `proxy lsp`: a language server for scripts, on standard input and output.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::setup;
use crate::author::lsp::{self, End, Workspace};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The config whose servers and tools are offered (default: the one in the workspace)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Accepted because editors add it: standard input and output are used anyway
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = std::env::current_dir()?;
    let config = arguments.config.as_ref().map(|config| folder.join(config));
    let workspace = Workspace { config, folder, options: setup::options(false)? };
    let output = Box::new(std::io::stdout());
    match lsp::serve(std::io::stdin().lock(), output, workspace)? {
        End::Asked => Ok(()),
        End::Unasked => Err(Failure::silent()),
    }
}
