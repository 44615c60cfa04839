//! Clients whose entry leads to something that is gone.

use super::client_entry::ClientEntry;
use super::findings::Findings;
use crate::cli::commands::init;
use crate::cli::failure::CommandFailure;
use crate::cli::table;
use proxy_config::entries::ClientText;
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
    for (name, value) in read.entries(own_entry.section) {
        let Some(entry) = ClientEntry::of(client, file.is_project, &name, &value) else { continue };
        is_installed = true;
        let Some((problem, fix)) = entry.fault() else { continue };
        let line = read.line(own_entry.section, &name).unwrap_or(1);
        findings.broken(AREA, format!("{}: {}:{line}: {problem}", client.title, file.path.display()), fix);
    }
    is_installed
}
