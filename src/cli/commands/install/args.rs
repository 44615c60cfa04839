//! The arguments of both commands, and the client that they mean.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::cli::commands::init;
use crate::cli::failure::CommandFailure;
use proxy_config::import::{CLIENTS, ClientFile, ImportClient, OwnEntry, Surroundings};

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Client whose config gets an entry for the proxy
    #[arg(value_name = "CLIENT", required_unless_present = "link", value_parser = known_clients())]
    client: Option<String>,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value = "proxy")]
    pub(super) name: String,
    /// Install for all projects of this user, or for the project in the current folder
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(super) scope: Scope,
    /// Config file that the proxy serves for this client
    #[arg(short, long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Serve this profile of the config
    #[arg(long, value_name = "NAME", conflicts_with = "import")]
    pub(super) profile: Option<String>,
    /// Move the client's servers into the proxy's config
    #[arg(long)]
    pub(super) import: bool,
    /// Show the changes and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Print a link that installs the proxy when it is opened
    #[arg(long, value_name = "CLIENT", conflicts_with_all = ["client", "import", "dry_run", "json"])]
    pub(super) link: Option<LinkClient>,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// Client whose config has the entry
    #[arg(value_name = "CLIENT", value_parser = known_clients())]
    client: String,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value = "proxy")]
    pub(super) name: String,
    /// Where it was installed
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(super) scope: Scope,
    /// Show the changes and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Scope {
    User,
    Project,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LinkClient {
    #[value(name = "vscode")]
    VsCode,
    Cursor,
}

fn known_clients() -> PossibleValuesParser {
    let known = CLIENTS.iter().filter(|client| client.own_entry.is_some());
    PossibleValuesParser::new(known.map(|client| client.name))
}

/// A client, and its file that has the entry.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) client: &'static ImportClient,
    pub(super) own_entry: OwnEntry,
    pub(super) file: ClientFile,
    pub(super) surroundings: Surroundings,
    pub(super) is_project: bool,
}

impl InstallArgs {
    pub(super) fn place(&self) -> Result<Place, CommandFailure> {
        place(self.client.as_deref().unwrap_or_default(), self.scope)
    }
}

impl UninstallArgs {
    pub(super) fn place(&self) -> Result<Place, CommandFailure> {
        place(&self.client, self.scope)
    }
}

fn place(name: &str, scope: Scope) -> Result<Place, CommandFailure> {
    let surroundings = init::surroundings()?;
    let client = ImportClient::by_name(name);
    let Some((client, own_entry)) = client.and_then(|client| Some((client, client.own_entry?))) else {
        return Err(CommandFailure::usage(format!("`{name}` is not a known client")));
    };
    let is_project = scope == Scope::Project;
    let Some(file) = client.entry_file(is_project, &surroundings) else {
        let (problem, hint) = match scope {
            Scope::Project => ("has no config for single projects", "leave out `--scope project`"),
            Scope::User => ("has its config in your home folder, and `HOME` is not set", "set `HOME`"),
        };
        return Err(CommandFailure::usage_with_hint(format!("{} {problem}", client.title), hint));
    };
    Ok(Place { client, own_entry, file, surroundings, is_project })
}

impl Place {
    pub(super) fn section(&self) -> &'static [&'static str] {
        self.own_entry.section
    }

    /// The options that lead to the same entry.
    pub(super) fn options(&self, name: &str) -> String {
        let scope = if self.is_project { " --scope project" } else { "" };
        let name = if name == "proxy" { String::new() } else { format!(" --name {name}") };
        format!("{}{scope}{name}", self.client.name)
    }
}
