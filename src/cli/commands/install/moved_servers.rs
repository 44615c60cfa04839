//! The servers of a client, moved into the proxy's config.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::Place;
use super::client_file::ClientTarget;
use super::import_log::{self, Import, NotedImport};
use super::record::MovedServer;
use crate::cli::failure::CommandFailure;
use crate::cli::{output, table};
use proxy_base::NAME;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::entries::{ClientText, command_words, is_this_proxy};
use proxy_config::import::{self, Imported, ImportedServer, NeededVariable};

/// What will be moved, and the proxy's config with it.
#[derive(Debug)]
pub(super) struct PlannedMove {
    pub(super) config: PathBuf,
    pub(super) target: ClientTarget,
    /// The new text of the config.
    pub(super) text: String,
    pub(super) servers: Vec<MovedServer>,
    imported: Imported,
}

/// The plan; `None` with a remark if the client has no server to move.
pub(super) fn plan(
    place: &Place,
    before: &ClientText,
    config: Option<&Path>,
) -> Result<Option<PlannedMove>, CommandFailure> {
    // A program of our name is left alone, whoever's it is.
    let is_other = |(_, entry): &(String, Value)| !is_this_proxy(command_words(entry).iter().map(String::as_str));
    let others: Vec<(String, Value)> = before.entries(place.section()).into_iter().filter(is_other).collect();
    let nothing = || output::err(&format!("{} has no servers to move", place.client.title));
    if others.is_empty() {
        nothing();
        return Ok(None);
    }
    let mut file = place.file.clone();
    if !place.is_project
        && let Some(home) = &place.surroundings.home
    {
        // The servers that Claude Code has for single projects stay where they are.
        file.workspace.clone_from(home);
    }
    let mut imported = import::import(&[file], &place.surroundings).map_err(CommandFailure::config)?;
    let originals = std::mem::take(&mut imported.originals);
    let mut stay = Vec::new();
    let mut servers = Vec::new();
    let mut entries = Vec::new();
    for (original, entry) in originals.into_iter().zip(std::mem::take(&mut imported.entries)) {
        if let Some((name, value)) = others.iter().find(|(name, _)| *name == original) {
            if let Some(why) = staying(place, &entry) {
                stay.push(why);
                continue;
            }
            let written = before.written(place.section(), name);
            servers.push(MovedServer { name: name.clone(), written, value: value.clone() });
            entries.push(entry);
        }
    }
    imported.entries = entries;
    imported.warnings.extend(import::fixed_values(&imported));
    if servers.is_empty() {
        imported.warnings.extend(stay);
        output::diagnostics(&imported.warnings);
        nothing();
        return Ok(None);
    }
    let config = match config {
        Some(config) => config.to_owned(),
        None => new_config(place)?,
    };
    let target = ClientTarget::read(&config)?;
    let text = match &target.bytes {
        None => import::render_yaml(&imported),
        Some(_) => import::added_to(&config, target.text()?, &mut imported, place.client.name)?,
    };
    refuse_unusable(place, &config, &text)?;
    // They are no remarks about what is in the config.
    imported.warnings.extend(stay);
    Ok(Some(PlannedMove { config, target, text, servers, imported }))
}

/// Why a server stays in the client: there it has values that the proxy would not have.
fn staying(place: &Place, server: &ImportedServer) -> Option<Diagnostic> {
    let title = place.client.title;
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some(variable) = server.needed_variables().into_iter().find(|variable| !is_set(&variable.name)) {
        let NeededVariable { name, why } = variable;
        let message = format!("`{}` stays in {title}: it needs the environment variable {name}, {why}", server.name);
        return Some(Diagnostic::warning(message).hint(format!("set {name} where {title} starts, and here")));
    }
    // A project's file is for one workspace.
    if place.is_project {
        return None;
    }
    let variable = server.fixed_variables().into_iter().next()?;
    let message = format!("`{}` stays in {title}: `{}` differs for each workspace", server.name, variable.written);
    let hint = format!("write a path instead of `{}` to move it", variable.written);
    Some(Diagnostic::warning(message).hint(hint))
}

/// Checks that the proxy can load the config as it would be: the client does without a server that is wrong, and a config with
/// one serves none. A variable that is not set here may be set for the client.
fn refuse_unusable(place: &Place, config: &Path, text: &str) -> Result<(), CommandFailure> {
    let here = |name: &str| std::env::var(name).ok();
    let elsewhere = |name: &str| here(name).or_else(|| Some("x".to_owned()));
    let Err(problems) = proxy_config::load_text(config, text, &here) else { return Ok(()) };
    if proxy_config::load_text(config, text, &elsewhere).is_ok() {
        return Ok(());
    }
    let note =
        format!("this is the config as it would be; nothing was written, and {} is as it was", place.client.title);
    Err(CommandFailure::config(problems).with_note(Some(note)))
}

/// Where a new config is found, wherever the client starts the proxy.
fn new_config(place: &Place) -> Result<PathBuf, CommandFailure> {
    if place.is_project {
        return Ok(place.surroundings.current_folder.join("proxy.yaml"));
    }
    let folder = place.surroundings.config_folder.as_ref();
    let folder = folder.ok_or_else(|| CommandFailure::failed(Diagnostic::error("`HOME` is not set")))?;
    Ok(folder.join(NAME).join("proxy.yaml"))
}

impl PlannedMove {
    /// Shows what the proxy will start, and which secrets the config will have as plain text.
    pub(super) fn show(&self) {
        output::diagnostics(&self.imported.warnings);
        let count = table::count(self.servers.len(), "server");
        let place = if self.target.bytes.is_some() { "to add to" } else { "for the new file" };
        output::err(&format!("{count} {place} {}:", output::one_line(&self.config.display().to_string())));
        for line in import::commands(&self.imported) {
            output::err(&format!("  {}", output::one_line(&line)));
        }
        let secrets = import::literal_secrets(&self.imported);
        if !secrets.is_empty() {
            let places: Vec<String> = secrets.iter().map(|place| output::one_line(place).into_owned()).collect();
            let message = format!("secrets are in the config as plain text: {}", places.join("; "));
            let hint = "only you can read the file; `${NAME}` takes them from the environment, `envFile` from a file";
            output::diagnostics(&[Diagnostic::warning(message).hint(hint)]);
        }
    }

    /// Notes the import, so that it can be undone.
    pub(super) fn note(&self, file: &Path) -> Result<NotedImport, Diagnostic> {
        let import = Import {
            file: file.to_owned(),
            servers: self.imported.entries.iter().map(|entry| entry.name.clone()).collect(),
            secrets: import::literal_secrets(&self.imported),
        };
        import_log::note(&self.target, &self.config, self.text.as_bytes(), import)
    }

    /// Writes the config. Returns the folders made for it.
    pub(super) fn write(&self) -> Result<Vec<PathBuf>, Diagnostic> {
        let is_public = import::literal_secrets(&self.imported).is_empty() && self.target.bytes.is_some();
        if is_public {
            self.target.replace(self.text.as_bytes())
        } else {
            self.target.replace_privately(self.text.as_bytes())
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let names: Vec<&str> = self.imported.entries.iter().map(|entry| entry.name.as_str()).collect();
        json!({
            "config": self.config,
            "servers": names,
            "literalSecrets": import::literal_secrets(&self.imported),
        })
    }
}
