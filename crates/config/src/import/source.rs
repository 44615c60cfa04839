//! Reads configs of other programs from their files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::client::{ClientFile, ImportClient, Surroundings, UNKNOWN};
use super::members::plain_text;
use super::rules::{Rules, SWITCHES};
use super::variables::{InputPrompt, Variables};
use super::{Imported, ImportedServer, Importer, Restriction, sections};
use crate::syntax::document::ConfigDocument;
use crate::syntax::tree::Value;
use proxy_base::diagnostic::Diagnostic;

/// A file that the command line names, with the client that has such a file.
pub fn file_of(path: &Path, surroundings: &Surroundings) -> ClientFile {
    let absolute = surroundings.current_folder.join(path);
    let client = ImportClient::by_path(&absolute).unwrap_or(&UNKNOWN);
    let project = client.project_of(&absolute).filter(|project| Some(project) != surroundings.home.as_ref());
    ClientFile {
        client,
        path: path.to_owned(),
        is_project: project.is_some(),
        workspace: project.unwrap_or_else(|| surroundings.current_folder.clone()),
    }
}

/// How many servers a file has; `None` if it cannot be read or has no place for servers.
pub fn count_servers(file: &ClientFile) -> Option<usize> {
    let document = parse(&file.path).ok()?;
    let sections = sections::find(&document, Some(file.client), &file.workspace).ok()??;
    Some(sections.servers.len())
}

/// Imports the servers of files. If several servers have the same name, the first is used, as the client does, but anything
/// disabled or hidden in one of them stays so. Unsupported settings are skipped with a warning.
pub fn import(files: &[ClientFile], surroundings: &Surroundings) -> Result<Imported, Vec<Diagnostic>> {
    let mut imported = Imported::default();
    let mut names = HashSet::new();
    let mut found: Vec<(String, &'static ImportClient, ImportedServer)> = Vec::new();
    let mut restrictions = Vec::new();
    let mut projects: Vec<(&'static ImportClient, PathBuf)> = Vec::new();
    let mut rules = Rules::default();
    let mut errors = Vec::new();
    for file in files {
        let document = match parse(&file.path) {
            Ok(document) => document,
            Err(problem) => {
                errors.push(problem);
                continue;
            }
        };
        match read(file, &document, &mut names, &mut rules) {
            Ok(Some(read)) => {
                imported.files.push(file.path.display().to_string());
                imported.warnings.extend(read.warnings);
                restrictions.extend(read.restrictions);
                let is_known = |(client, project): &(&'static ImportClient, PathBuf)| {
                    client.name == read.client.name && *project == file.workspace
                };
                if !projects.iter().any(is_known) {
                    projects.push((read.client, file.workspace.clone()));
                }
                for (original, server) in read.servers {
                    if found.iter().any(|(known, _, _)| *known == original) {
                        let shown = (original.escape_debug(), file.path.display());
                        let message = format!("skipped `{}` from {}: another config has it too", shown.0, shown.1);
                        imported.warnings.push(Diagnostic::warning(message));
                        let ImportedServer { disabled, tools, .. } = server;
                        restrictions.push(Restriction { server: original, disabled, tools });
                    } else {
                        found.push((original, read.client, server));
                    }
                }
            }
            Ok(None) => {}
            Err(problems) => errors.extend(problems),
        }
    }
    errors.extend(read_rule_files(&projects, surroundings, &mut rules).err());
    if !errors.is_empty() {
        return Err(errors);
    }
    if imported.files.is_empty() {
        let paths: Vec<String> = files.iter().map(|file| format!("`{}`", file.path.display())).collect();
        let problem = Diagnostic::error(format!("no servers found in {}", paths.join(", ")));
        let hint = "expected `mcpServers`, or `servers`, `mcp`, `context_servers`, `mcp_servers` or `extensions`, as other \
                    clients have them";
        return Err(vec![problem.hint(hint)]);
    }
    for restriction in restrictions {
        let server = found.iter_mut().find(|(name, _, _)| *name == restriction.server);
        if let Some((_, _, server)) = server {
            restriction.apply(server);
        }
    }
    for (original, client, mut server) in found {
        rules.apply(client, &original, &mut server);
        imported.entries.push(server);
        imported.originals.push(original);
    }
    Ok(imported)
}

/// The rules that the clients have in files of their own, for each project.
fn read_rule_files(
    projects: &[(&'static ImportClient, PathBuf)],
    surroundings: &Surroundings,
    rules: &mut Rules,
) -> Result<(), Diagnostic> {
    for (client, project) in projects {
        let surroundings = Surroundings { current_folder: project.clone(), ..surroundings.clone() };
        for path in client.rule_files(&surroundings) {
            let document = parse(&path)?;
            match path.ends_with(SWITCHES) {
                true => rules.add_switches(&document),
                false => rules.add(client, &document, project)?,
            }
        }
    }
    Ok(())
}

fn parse(path: &Path) -> Result<ConfigDocument, Diagnostic> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Diagnostic::error(format!("cannot read `{}`: {error}", path.display())))?;
    ConfigDocument::parse(path, &text)
}

/// What one file has.
struct ReadFile {
    client: &'static ImportClient,
    servers: Vec<(String, ImportedServer)>,
    restrictions: Vec<Restriction>,
    warnings: Vec<Diagnostic>,
}

/// The servers of one file, and its warnings; `None` if it has no place for servers.
fn read(
    file: &ClientFile,
    document: &ConfigDocument,
    names: &mut HashSet<String>,
    rules: &mut Rules,
) -> Result<Option<ReadFile>, Vec<Diagnostic>> {
    let known = Some(file.client).filter(|client| !client.name.is_empty());
    let Some(found) = sections::find(document, known, &file.workspace).map_err(|problem| vec![problem])? else {
        return Ok(None);
    };
    let repeated: Vec<Diagnostic> = document.repeated_keys().collect();
    if !repeated.is_empty() {
        return Err(repeated);
    }
    rules.add(found.client, document, &file.workspace).map_err(|problem| vec![problem])?;
    let variables = Variables {
        syntax: found.client.syntax,
        workspace: file.workspace.to_string_lossy().into_owned(),
        prompts: prompts(document),
        local: Vec::new(),
    };
    let mut importer = Importer {
        document,
        client: found.client,
        variables,
        workspace: file.workspace.clone(),
        is_project: file.is_project,
        names,
        restrictions: Vec::new(),
        warnings: Vec::new(),
        errors: Vec::new(),
    };
    let entries = found.servers.iter();
    let servers = entries.filter_map(|(key, node)| Some((key.text.clone(), importer.entry(key, node)?))).collect();
    if !importer.errors.is_empty() {
        return Err(importer.errors);
    }
    let mut warnings = importer.warnings;
    if found.of_other_projects > 0 {
        let count = found.of_other_projects;
        let noun = if count == 1 { "server" } else { "servers" };
        let message = format!("left out {count} {noun} of other projects");
        warnings.push(Diagnostic::warning(message).hint("run the command in the project folder to import them"));
    }
    Ok(Some(ReadFile { client: found.client, servers, restrictions: importer.restrictions, warnings }))
}

/// The values that VS Code prompts for.
fn prompts(document: &ConfigDocument) -> Vec<InputPrompt> {
    let in_settings = || document.root.get("mcp").and_then(|mcp| mcp.get("inputs"));
    let Some(Value::List(items)) = document.root.get("inputs").or_else(in_settings).map(|inputs| &inputs.value) else {
        return Vec::new();
    };
    let prompt = |item: &crate::syntax::tree::Node| {
        let text = |key: &str| item.get(key).and_then(plain_text);
        Some(InputPrompt {
            id: text("id")?,
            description: text("description").unwrap_or_default(),
            default: text("default"),
        })
    };
    items.iter().filter_map(prompt).collect()
}
