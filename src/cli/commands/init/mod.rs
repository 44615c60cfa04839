//! `proxy init`: writes a config file, and offers to start its servers once.

mod schema_file;
mod sources;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

pub(super) use sources::surroundings;

use super::inspect::list_servers::{self, ListServersArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::cli::terminal::asked;
use proxy_base::diagnostic::Diagnostic;
use proxy_config as config;
use proxy_config::import::{self, Imported, NeededVariable};

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Import servers from other clients: client names, config files, or `all` [clients: claude-desktop,
    /// claude-code, cursor, vscode, windsurf, zed, codex, gemini, opencode, continue, goose, cline]
    #[arg(long, value_name = "SOURCE", num_args = 1..)]
    from: Vec<PathBuf>,
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
    if target.extension().is_some_and(|extension| extension == "json" || extension == "jsonc") {
        let problem = Diagnostic::error("`proxy init` writes YAML");
        return Err(CommandFailure::config(vec![problem.hint("choose a name that ends in `.yaml`")]));
    }
    let is_import = !args.from.is_empty();
    let mut to_set: Vec<String> = Vec::new();
    let mut text = config::template().to_owned();
    if is_import {
        let Some(imported) = imported(&args.from, args.yes)? else {
            output::err("nothing was written");
            return Ok(());
        };
        text = import::render_yaml(&imported);
        to_set = names(&unset(&imported));
    }
    let schema = schema_file::write(target);
    let text = schema.as_ref().map_or_else(String::new, |name| schema_file::comment(name)) + &text;
    write(target, &text, is_import).map_err(|error| {
        CommandFailure::failed(Diagnostic::error(format!("cannot write `{}`: {error}", target.display())))
    })?;
    let option =
        if target.as_os_str() == "proxy.yaml" { String::new() } else { format!(" --config {}", target.display()) };
    let also = schema.map_or_else(String::new, |name| format!(" and {name} for editors"));
    let set = if to_set.is_empty() { String::new() } else { format!("set {}, then ", to_set.join(" and ")) };
    let next = format!("Next: {set}`proxy check{option}`, then `proxy serve{option}`");
    output::err(&format!("wrote {}{also}. {next}", target.display()));
    if !is_import {
        sources::report_found(target)?;
        return Ok(());
    }
    if args.yes || !std::io::stdin().is_terminal() {
        output::err(&format!(
            "`proxy list-servers{option}` starts each server once, so that the first client gets all tools at once"
        ));
        return Ok(());
    }
    match asked("start each server once now, so that the first client gets all tools at once? [Y/n] ")?.as_str() {
        "" | "y" | "Y" | "yes" => list_servers::run(&ListServersArgs::of_file(target)),
        _ => Ok(()),
    }
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
fn imported(from: &[PathBuf], yes: bool) -> Result<Option<Imported>, CommandFailure> {
    let surroundings = sources::surroundings()?;
    let mut imports = Vec::new();
    for (client, files) in sources::all_named(from, &surroundings)? {
        imports.push((client, import::import(&files, &surroundings).map_err(CommandFailure::config)?));
    }
    let mut imported = import::combined(imports);
    imported.warnings.extend(import::fixed_values(&imported));
    output::diagnostics(&imported.warnings);
    if imported.entries.is_empty() {
        return Err(CommandFailure::failed(Diagnostic::error("there is no server to import")));
    }
    output::err("this config starts or connects to:");
    for line in import::commands(&imported) {
        output::err(&format!("  {}", output::one_line(&line)));
    }
    for (server, NeededVariable { name, why }) in unset(&imported) {
        let message = format!("`{}` needs the environment variable {name}: {why}", output::one_line(server));
        output::diagnostics(&[Diagnostic::warning(message).hint("set it where you start the proxy")]);
    }
    if !yes && !confirmed()? {
        return Ok(None);
    }
    Ok(Some(imported))
}

/// The variables that are not set here, with the servers that need them.
fn unset(imported: &Imported) -> Vec<(&str, &NeededVariable)> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut unset = Vec::new();
    for server in &imported.entries {
        let needed = server.needed_variables().into_iter().filter(|needed| !is_set(&needed.name));
        unset.extend(needed.map(|needed| (server.name.as_str(), needed)));
    }
    unset
}

fn names(unset: &[(&str, &NeededVariable)]) -> Vec<String> {
    let mut names: Vec<String> = unset.iter().map(|(_, needed)| needed.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn confirmed() -> Result<bool, CommandFailure> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandFailure::usage("standard input is not a terminal: pass --yes to accept these commands"));
    }
    Ok(matches!(asked("write the config? [y/N] ")?.as_str(), "y" | "Y" | "yes"))
}
