//! The settings that session scripts may read.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::config::CodeMode;
use crate::search::Embedder;

/// The parts of the config that session scripts use, with defaults filled in.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What `config()` returns: sections such as `aggregation`, and `params`, the script's own settings.
    pub sections: Map<String, Json>,
    /// Computes embeddings for search indexes; None if search is purely lexical.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The limits for scripts of code mode.
    pub code_mode: CodeMode,
}
