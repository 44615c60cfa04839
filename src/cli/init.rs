//! `proxy init`: a first config file.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use super::output;
use crate::config::{self, import};
use crate::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Import the servers of this file: Claude Desktop's, Cursor's or VS Code's config
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Where to write it
    #[arg(long, value_name = "FILE", default_value = "proxy.yaml")]
    output: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = &arguments.output;
    if target.exists() && !arguments.force {
        let diagnostic = Diagnostic::error(format!("`{}` is there already", target.display()))
            .hint("--force replaces it, --output FILE writes another");
        return Err(Failure::failed(diagnostic));
    }
    let text = match &arguments.from {
        None => config::template().to_owned(),
        Some(from) => match imported(from, arguments.yes)? {
            Some(text) => text,
            None => {
                output::err("nothing was written");
                return Ok(());
            }
        },
    };
    write(target, &text, arguments.from.is_some()).map_err(|error| {
        Failure::failed(Diagnostic::error(format!("`{}` cannot be written: {error}", target.display())))
    })?;
    let option =
        if target.as_os_str() == "proxy.yaml" { String::new() } else { format!(" --config {}", target.display()) };
    output::err(&format!("wrote {}. Next: `proxy check{option}`, then `proxy serve{option}`", target.display()));
    Ok(())
}

/// An imported file may hold secrets, so it is for the user alone.
fn write(target: &Path, text: &str, private: bool) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if private {
        options.mode(0o600);
    }
    options.open(target)?.write_all(text.as_bytes())
}

/// The imported config, once the person has seen what it would start. A foreign file is foreign code.
fn imported(from: &Path, yes: bool) -> Result<Option<String>, Failure> {
    let text = std::fs::read_to_string(from)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", from.display())))?;
    let imported = import::import(from, &text).map_err(Failure::config)?;
    output::diagnostics(&imported.warnings);
    output::err("this config would start or connect to:");
    for line in import::commands(&imported) {
        output::err(&format!("  {line}"));
    }
    if !yes && !confirmed()? {
        return Ok(None);
    }
    Ok(Some(import::render_yaml(&imported)))
}

fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nobody can be asked: say --yes if these commands are what you want"));
    }
    let _ = write!(std::io::stderr(), "write it? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
