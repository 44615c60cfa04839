//! Is everything right: the scripts as they are written, what they would publish, and how that differs from what is served.

mod fixes;
mod unpublished;
pub mod scripts;

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::model::Snapshot;
use crate::model::{BackendView, ItemKind, Status};
use crate::surface::Surface;

pub use unpublished::unpublished;

use super::published::{Changes, Record};

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    pub problems: Vec<Diagnostic>,
    pub servers: Vec<State>,
    /// What would be published.
    pub items: Vec<Item>,
    /// Against what `proxy serve` last published, if it did.
    pub changes: Option<Changes>,
}

/// How a server stands.
#[derive(Debug)]
pub struct State {
    pub name: String,
    pub text: String,
}

#[derive(Debug)]
pub struct Item {
    pub kind: ItemKind,
    pub name: String,
    /// Where it comes from; empty for what the script made.
    pub server: String,
}

impl Report {
    /// Takes problems, but none twice: a fault that was seen in the text is met again when it runs.
    pub fn add(&mut self, problems: impl IntoIterator<Item = Diagnostic>) {
        for problem in problems.into_iter().map(fixes::cured) {
            let again = |known: &Diagnostic| {
                known == &problem || (known.is_error() && known.place.is_some() && known.place == problem.place)
            };
            if !self.problems.iter().any(again) {
                self.problems.push(problem);
            }
        }
    }

    /// Servers, and what was left out of their lists.
    pub fn add_servers(&mut self, snapshot: &Snapshot) {
        for backend in &snapshot.backends {
            self.servers.push(State { name: backend.name.to_string(), text: state(backend) });
            let left_out = backend
                .reports
                .iter()
                .map(|report| Diagnostic::warning(format!("server `{}`: {report}", backend.name)));
            self.add(left_out);
        }
    }

    /// Servers that were started and are not there.
    pub fn add_failures(&mut self, snapshot: &Snapshot) {
        let failed = snapshot.backends.iter().filter(|backend| !backend.error.is_empty());
        self.add(failed.map(|backend| {
            Diagnostic::error(format!("server `{}` is not available: {}", backend.name, backend.error))
        }));
    }

    /// What the script made of the servers.
    pub fn add_surface(&mut self, surface: &Arc<Surface>, snapshot: &Snapshot, record: Option<&Record>) {
        self.add(surface.warnings.iter().cloned());
        self.add(unpublished(surface, snapshot));
        for kind in ItemKind::ALL {
            self.items.extend(surface.entries(kind).map(|entry| Item {
                kind,
                name: entry.definition.key().to_owned(),
                server: entry.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default(),
            }));
        }
        self.changes = record.and_then(Record::load).map(|kept| kept.changes(surface));
    }
}

fn state(backend: &BackendView) -> String {
    let tools = match backend.lists.tools.len() {
        1 => "1 tool".to_owned(),
        number => format!("{number} tools"),
    };
    match backend.status {
        Status::Cached => format!("{tools} as last seen"),
        Status::Starting => "never seen: `proxy check --live` starts it".to_owned(),
        Status::Failed => format!("failed: {}", backend.error),
        Status::Ready => tools,
    }
}
