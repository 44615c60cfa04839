//! The settings that session scripts may read.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use indexmap::IndexMap;
use proxy_config::{CodeMode, Naming};
use proxy_dialects::Dialects;
use proxy_search::Embedder;

/// The parts of the config that session scripts use, with defaults filled in.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What `config()` returns: sections such as `aggregation`, and `params`, the script's own settings.
    pub sections: Map<String, Json>,
    /// Computes embeddings for search indexes; None if search is by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether the config says which embeddings to use. Then every search index reads the section `optimizer`.
    pub sets_embedding: bool,
    /// The limits for scripts of code mode.
    pub code_mode: CodeMode,
    /// What clients accept.
    pub dialects: Arc<Dialects>,
    /// The servers whose names do not follow the order of the config.
    pub namings: IndexMap<String, Naming>,
    /// The name of the profile for which the script runs; `None` at the top level.
    pub profile: Option<Arc<str>>,
}
