//! What the built-ins of one session script share: what they can see, and what they have written down.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use starlark::eval::Evaluator;
use starlark::values::OwnedFrozenValue;

use super::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::model::Snapshot;
use crate::model::{ItemKind, SurfaceKey};
use crate::script::{Context, script_error};
use crate::search::SharedIndex;

pub struct World {
    pub snapshot: Arc<Snapshot>,
    pub settings: Arc<Settings>,
    /// Whom the script runs for.
    pub visitor: SurfaceKey,
    /// The script's function `on_request`, once it has run.
    pub hook: OnceLock<OwnedFrozenValue>,
    notes: Arc<Mutex<Notes>>,
}

/// Written at the top level, read when the script has run.
#[derive(Debug, Default)]
pub struct Notes {
    /// What was published, by kind and key.
    pub published: HashMap<(ItemKind, String), Earlier>,
    pub instructions: Option<String>,
    pub passes_all: bool,
    pub sections_read: BTreeSet<String>,
    pub warnings: Vec<Diagnostic>,
    pub indexes: Vec<Arc<SharedIndex>>,
    /// Whether the script asked whom it runs for.
    pub personal: bool,
}

/// Where something of that kind and key was published, and whose it is.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// As `policy.star:3`.
    pub place: String,
    pub backend: Option<Arc<str>>,
}

impl World {
    pub fn new(snapshot: Arc<Snapshot>, settings: Arc<Settings>, visitor: SurfaceKey) -> Self {
        World { snapshot, settings, visitor, hook: OnceLock::new(), notes: Arc::default() }
    }

    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For values that write down what is done with them.
    pub fn shared_notes(&self) -> Arc<Mutex<Notes>> {
        self.notes.clone()
    }

    pub fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a World> {
        Context::of(evaluator)?.world().ok_or_else(|| script_error("this function works in session scripts only"))
    }
}
