//! Vectors of texts from a server that makes them, kept on disk: the search index asks for them through its trait
//! `Embedder`, of which another maker (a model in this process) would be another implementation.

mod kept;
mod remote;
mod shape;

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::Embedder;
use crate::config::Embedding;
use crate::wire::http::{HttpError, Pool};

/// The environment variable with the server's key, if it wants one.
pub const KEY_VARIABLE: &str = "EMBEDDING_API_KEY";

/// The maker that a config asks for. Asks nobody yet.
pub fn connect(
    embedding: &Embedding,
    key: Option<&str>,
    cache_folder: Option<&Path>,
    pool: &Pool,
    runtime: Handle,
) -> Result<Arc<dyn Embedder>, HttpError> {
    Ok(Arc::new(remote::Remote::new(embedding, key, cache_folder, pool, runtime)?))
}
