//! The servers of several clients as one config.

use super::{Imported, ImportedServer};

/// Combines imports, each with the name of its client. Equal servers are kept once; a different server whose name is taken
/// gets the client's name as a suffix.
pub fn combined(imports: Vec<(String, Imported)>) -> Imported {
    let mut all = Imported::default();
    for (client, imported) in imports {
        all.files.extend(imported.files);
        all.warnings.extend(imported.warnings);
        for server in imported.entries {
            let is_same =
                |known: &ImportedServer| ImportedServer { name: known.name.clone(), ..server.clone() } == *known;
            // Also one that was renamed after another client.
            let is_of_name = |known: &&ImportedServer| {
                known.name.strip_prefix(&server.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            if all.entries.iter().filter(is_of_name).any(is_same) {
                continue;
            }
            let name = free_name(&all, &server, &client);
            all.entries.push(ImportedServer { name, ..server });
        }
    }
    all
}

fn named(server: &ImportedServer, client: &str) -> String {
    format!("{}_{client}", server.name)
}

fn free_name(all: &Imported, server: &ImportedServer, client: &str) -> String {
    let is_taken = |name: &str| all.entries.iter().any(|known| known.name == name);
    if !is_taken(&server.name) {
        return server.name.clone();
    }
    let with_client = named(server, client);
    let numbered = (2..).map(|number| format!("{with_client}_{number}"));
    std::iter::once(with_client.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(with_client)
}
