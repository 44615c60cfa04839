//! `proxy init`: writes a config file.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::config::{self, import};
use crate::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Import the servers from a config of Claude Desktop, Cursor or VS Code
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// File to write
    #[arg(long, value_name = "FILE", default_value = "proxy.yaml")]
    output: PathBuf,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &InitArgs) -> Result<(), CommandFailure> {
    let target = &args.output;
    if target.exists() && !args.force {
        let diagnostic = Diagnostic::error(format!("`{}` already exists", target.display()))
            .hint("use --force to overwrite it, or --output FILE to write another file");
        return Err(CommandFailure::failed(diagnostic));
    }
    let text = match &args.from {
        None => config::template().to_owned(),
        Some(from) => match imported(from, args.yes)? {
            Some(text) => text,
            None => {
                output::err("nothing was written");
                return Ok(());
            }
        },
    };
    write(target, &text, args.from.is_some()).map_err(|error| {
        CommandFailure::failed(Diagnostic::error(format!("cannot write `{}`: {error}", target.display())))
    })?;
    let option =
        if target.as_os_str() == "proxy.yaml" { String::new() } else { format!(" --config {}", target.display()) };
    output::err(&format!("wrote {}. Next: `proxy check{option}`, then `proxy serve{option}`", target.display()));
    Ok(())
}

/// Writes the file. An imported config may contain secrets, so only the user may read it.
fn write(target: &Path, text: &str, private: bool) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if private {
        options.mode(0o600);
    }
    options.open(target)?.write_all(text.as_bytes())
}

/// Imports a config after the user has confirmed what it starts, because a config can run arbitrary programs.
fn imported(from: &Path, yes: bool) -> Result<Option<String>, CommandFailure> {
    let text = std::fs::read_to_string(from)
        .map_err(|error| CommandFailure::usage(format!("cannot read `{}`: {error}", from.display())))?;
    let imported = import::import(from, &text).map_err(CommandFailure::config)?;
    output::diagnostics(&imported.warnings);
    output::err("this config starts or connects to:");
    for line in import::commands(&imported) {
        output::err(&format!("  {}", output::one_line(&line)));
    }
    if !yes && !confirmed()? {
        return Ok(None);
    }
    Ok(Some(import::render_yaml(&imported)))
}

fn confirmed() -> Result<bool, CommandFailure> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandFailure::usage("standard input is not a terminal: pass --yes to accept these commands"));
    }
    let _ = write!(std::io::stderr(), "write the config? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
