//! `proxy identity-key`: the public key with which servers check who the callers of this proxy are.

use std::path::PathBuf;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::cli::setup::SourceArgs;
use proxy_base::diagnostic::Diagnostic;
use proxy_identity::IdentityKey;

#[derive(Debug, Args)]
pub(crate) struct IdentityKeyArgs {
    /// Config file
    #[arg(short, long, value_name = "FILE")]
    config: Vec<PathBuf>,
}

pub(super) fn run(args: &IdentityKeyArgs) -> Result<(), CommandFailure> {
    let config = SourceArgs::of_servers(args.config.clone(), Vec::new()).load()?.config;
    let Some(key) = config.serve.identity_key.as_ref().and_then(IdentityKey::of) else {
        let problem = Diagnostic::error("the config has no `serve.identityKey`");
        return Err(CommandFailure::failed(problem.hint("generate one with `openssl rand -base64 32`")));
    };
    output::json(&key.public());
    Ok(())
}
