//! The configs of other clients on this machine.

use std::path::{Path, PathBuf};

use crate::cli::failure::CommandFailure;
use crate::cli::{output, setup, table};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::import::{self, CLIENTS, ClientFile, FOLDER_VARIABLES, ImportClient, Surroundings};

pub(in crate::cli::commands) fn surroundings() -> Result<Surroundings, CommandFailure> {
    let folder = |variable: &str| std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let moved = FOLDER_VARIABLES.iter().filter_map(|variable| Some((*variable, folder(variable)?)));
    Ok(Surroundings {
        home: folder("HOME"),
        moved: moved.collect(),
        config_folder: setup::user_config_folder(),
        current_folder: std::env::current_dir()?,
    })
}

/// The source that means all clients with servers.
const ALL: &str = "all";

/// The files that each `--from` means, with the name of their client.
pub(super) fn all_named(
    from: &[PathBuf],
    surroundings: &Surroundings,
) -> Result<Vec<(String, Vec<ClientFile>)>, CommandFailure> {
    let mut sources = Vec::new();
    for source in from {
        if source.as_os_str() == ALL && !source.is_file() {
            sources.extend(every_client(surroundings)?);
            continue;
        }
        let files = named(source, surroundings)?;
        let client = files.first().map(|file| file.client.name).filter(|name| !name.is_empty());
        let stem = || source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        sources.push((client.map_or_else(stem, str::to_owned), files));
    }
    Ok(sources)
}

/// The usual files of all clients, if they have servers.
fn every_client(surroundings: &Surroundings) -> Result<Vec<(String, Vec<ClientFile>)>, CommandFailure> {
    let has_servers = |file: &ClientFile| import::count_servers(file).is_some_and(|count| count > 0);
    let files = |client: &'static ImportClient| -> Vec<ClientFile> {
        client.usual_files(surroundings).into_iter().filter(has_servers).collect()
    };
    let found: Vec<(String, Vec<ClientFile>)> = CLIENTS
        .iter()
        .map(|client| (client.name.to_owned(), files(client)))
        .filter(|(_, files)| !files.is_empty())
        .collect();
    if found.is_empty() {
        return Err(known_clients(Diagnostic::error("no client with servers found")));
    }
    Ok(found)
}

fn known_clients(problem: Diagnostic) -> CommandFailure {
    let names = CLIENTS.each_ref().map(|client| client.name).join(", ");
    CommandFailure::config(vec![problem.hint(format!("the known clients are: {names}"))])
}

/// The files that `--from` means: a file, or all usual files of a client.
pub(super) fn named(from: &Path, surroundings: &Surroundings) -> Result<Vec<ClientFile>, CommandFailure> {
    let client = from.to_str().and_then(ImportClient::by_name);
    let Some(client) = client.filter(|_| !from.is_file()) else {
        let file = import::file_of(from, surroundings);
        let is_name = !from.exists() && from.extension().is_none() && from.components().count() == 1;
        if !is_name {
            return Ok(vec![file]);
        }
        let problem = Diagnostic::error(format!("`{}` is neither a file nor a known client", from.display()));
        return Err(known_clients(problem));
    };
    let usual = client.usual_files(surroundings);
    let existing: Vec<ClientFile> = usual.iter().filter(|file| file.path.is_file()).cloned().collect();
    if existing.is_empty() {
        let mut problem = Diagnostic::error(format!("no config for {} found", client.title));
        for file in &usual {
            problem = problem.note(format!("there is no file `{}`", file.path.display()));
        }
        return Err(CommandFailure::config(vec![problem.hint("name the file: `proxy init --from FILE`")]));
    }
    Ok(existing)
}

/// Says which configs of other clients could be imported.
pub(super) fn report_found(target: &Path) -> Result<(), CommandFailure> {
    let surroundings = surroundings()?;
    for client in &CLIENTS {
        let files = client.usual_files(&surroundings).into_iter();
        let with_servers: Vec<(ClientFile, usize)> = files
            .filter_map(|file| import::count_servers(&file).filter(|count| *count > 0).map(|count| (file, count)))
            .collect();
        if with_servers.is_empty() {
            continue;
        }
        let counts: Vec<String> = with_servers
            .iter()
            .map(|(file, count)| format!("{} in {}", table::count(*count, "server"), shown(file, &surroundings)))
            .collect();
        let output =
            if target.as_os_str() == "proxy.yaml" { String::new() } else { format!(" --output {}", target.display()) };
        output::err(&format!(
            "found {}: {}. To import: `proxy init --from {} --force{output}`",
            client.title,
            counts.join(", "),
            client.name
        ));
    }
    Ok(())
}

/// The path of a file in short form, for people.
fn shown(file: &ClientFile, surroundings: &Surroundings) -> String {
    let (base, before) =
        if file.is_project { (Some(&surroundings.current_folder), "") } else { (surroundings.home.as_ref(), "~/") };
    match base.and_then(|base| file.path.strip_prefix(base).ok()) {
        Some(below) => format!("{before}{}", below.display()),
        None => file.path.display().to_string(),
    }
}
