//! The state shared by the built-ins during one session script run: their inputs, and what they record.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use starlark::eval::Evaluator;
use starlark::values::OwnedFrozenValue;

use super::settings::Settings;
use crate::session::provenance::Provenance;
use proxy_base::diagnostic::Diagnostic;
use proxy_dialects::Dialect;
use proxy_model::flow::Labels;
use proxy_model::{ItemKind, ItemRef, Snapshot, SurfaceKey};
use proxy_script::{CallSite, Context, SourceLine, script_error};
use proxy_search::SharedIndex;

pub struct World {
    pub snapshot: Arc<Snapshot>,
    pub settings: Arc<Settings>,
    /// The user and client for whom the script runs.
    pub surface_key: SurfaceKey,
    /// The script's function `on_request`; set after the top level has run.
    pub hook: OnceLock<OwnedFrozenValue>,
    /// The script's function `on_other_request`; set after the top level has run.
    pub other_hook: OnceLock<OwnedFrozenValue>,
    /// The published tools that only pass a call on to another tool; set after the top level has run.
    pub forwarding: OnceLock<HashSet<String>>,
    notes: Arc<Mutex<Notes>>,
}

/// What built-ins record at the top level. Becomes part of the [`Plan`](crate::Plan).
#[derive(Debug, Default)]
pub struct Notes {
    /// The published items by kind and key.
    pub published: HashMap<(ItemKind, String), PublishedAt>,
    /// Where and why the script decided what it did.
    pub provenance: Provenance,
    pub instructions: Option<String>,
    pub passes_all: bool,
    pub sections_read: BTreeSet<String>,
    pub warnings: Vec<Diagnostic>,
    pub indexes: Vec<Arc<SharedIndex>>,
    /// The labels that the script has set on items of servers.
    pub labels: HashMap<ItemRef, Labels>,
    /// Whether the script read the current user or client.
    pub personal: bool,
    /// Whether the script read what the client accepts.
    pub reads_row: bool,
    /// Held by each value of `client()`. One that outlives the run may be read later.
    pub client_values: Arc<()>,
}

/// Where an item is already published.
#[derive(Clone, Debug)]
pub struct PublishedAt {
    pub site: CallSite,
    /// The backend of the item; None if the script made the metadata.
    pub backend: Option<Arc<str>>,
}

impl PublishedAt {
    /// The line in the script, such as `policy.star:3`.
    pub fn place(&self) -> String {
        self.site.line().map(SourceLine::short).unwrap_or_default()
    }
}

impl World {
    pub fn new(snapshot: Arc<Snapshot>, settings: Arc<Settings>, surface_key: SurfaceKey) -> Self {
        World {
            snapshot,
            settings,
            surface_key,
            hook: OnceLock::new(),
            other_hook: OnceLock::new(),
            forwarding: OnceLock::new(),
            notes: Arc::default(),
        }
    }

    /// What the client for which the script runs accepts.
    pub fn dialect(&self) -> Option<&Arc<Dialect>> {
        let dialects = &self.settings.dialects;
        match &self.surface_key.row {
            Some(row) => dialects.named(row),
            None => dialects.row_of(&self.surface_key.client),
        }
    }

    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock()
    }

    /// For Starlark values that record how scripts use them.
    pub fn shared_notes(&self) -> Arc<Mutex<Notes>> {
        self.notes.clone()
    }

    /// The world of the script that is being evaluated.
    pub fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a World> {
        Context::of(evaluator)?
            .world()
            .ok_or_else(|| script_error("this function is available in session scripts only"))
    }
}
