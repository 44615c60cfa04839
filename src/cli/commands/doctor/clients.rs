//! Clients whose entry leads to something that is gone.

use std::path::Path;

use super::findings::Findings;
use crate::cli::commands::init;
use crate::cli::failure::CommandFailure;
use crate::cli::table;
use proxy_base::process::{find_program, is_executable};
use proxy_config::entries::{ClientText, command_words, is_this_proxy};
use proxy_config::import::{CLIENTS, ClientFile, ImportClient, OwnEntry};

const AREA: &str = "clients";

pub(super) fn check(findings: &mut Findings) -> Result<(), CommandFailure> {
    let surroundings = init::surroundings()?;
    let known = CLIENTS.iter().filter_map(|client| Some((client, client.own_entry?)));
    let mut titles: Vec<&str> = Vec::new();
    for (client, own_entry) in known {
        for file in client.usual_files(&surroundings) {
            if check_file(client, own_entry, &file, findings) && !titles.contains(&client.title) {
                titles.push(client.title);
            }
        }
    }
    let what = match titles.as_slice() {
        [] => "the proxy is in no client's config; `proxy install CLIENT` adds it".to_owned(),
        titles => format!("{}: {}", table::count(titles.len(), "client"), titles.join(", ")),
    };
    findings.ok_unless_found(AREA, what);
    Ok(())
}

/// Whether the file has an entry for this proxy.
fn check_file(client: &ImportClient, own_entry: OwnEntry, file: &ClientFile, findings: &mut Findings) -> bool {
    let Ok(text) = std::fs::read_to_string(&file.path) else { return false };
    let read = match ClientText::parse(&file.path, &text) {
        Ok(read) => read,
        Err(problem) => {
            let place = problem.place.as_ref().map_or_else(|| file.path.display().to_string(), |place| place.short());
            let problem = format!("{}: {place}: {}", client.title, problem.message);
            findings.warning(AREA, problem, "correct the file: the client may not read it either");
            return false;
        }
    };
    let mut is_installed = false;
    for (name, entry) in read.entries(own_entry.section) {
        let words = command_words(&entry);
        if !is_this_proxy(words.iter().map(String::as_str)) {
            continue;
        }
        is_installed = true;
        let Some(problem) = problem(&words) else { continue };
        let line = read.line(own_entry.section, &name).unwrap_or(1);
        let scope = if file.is_project { " --scope project" } else { "" };
        let named = if name == "proxy" { String::new() } else { format!(" --name {name}") };
        let profile = profile(&words).map(|profile| format!(" --profile {profile}")).unwrap_or_default();
        let what = format!("{}: {}:{line}: {problem}", client.title, file.path.display());
        let command = format!("`proxy install {}{scope}{named}{profile}`", client.name);
        findings.broken(AREA, what, format!("{command} writes the entry anew"));
    }
    is_installed
}

/// The profile that the entry serves.
fn profile(words: &[String]) -> Option<&String> {
    let at = words.iter().position(|word| word == "--profile")?;
    words.get(at + 1)
}

fn problem(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let path = Path::new(program);
    if program.contains('/') {
        if !path.is_file() || !is_executable(path) {
            return Some(format!("`{program}` is gone"));
        }
    } else if find_program(program, |name| std::env::var_os(name)).is_err() {
        return Some(format!("there is no program `{program}`"));
    }
    let is_option = |argument: &String| matches!(argument.as_str(), "--config" | "-c");
    let named = arguments.iter().zip(arguments.iter().skip(1)).filter(|(option, _)| is_option(option));
    let mut gone =
        named.map(|(_, file)| file).filter(|file| Path::new(file).is_absolute() && !Path::new(file).is_file());
    gone.next().map(|file| format!("the config `{file}` is gone"))
}
