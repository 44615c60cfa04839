//! The settings that session scripts may read.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::config::CodeMode;
use crate::search::Embedder;

/// The sections of the config that scripts read, with defaults filled in.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `aggregation` and the like, and `params`: the script's own settings.
    pub sections: Map<String, Json>,
    /// Who makes the vectors of search indexes, if anybody does.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// How much a script that a model wrote may use.
    pub code_mode: CodeMode,
}
