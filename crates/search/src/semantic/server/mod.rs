//! Embedding vectors from a remote server, cached on disk.

mod client;
mod provider;

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::Embedder;
use proxy_config::EmbeddingServer;
use proxy_wire::http::{HttpError, HttpPool};

/// The environment variable with the API key of the embedding server, if it requires one.
pub const KEY_VARIABLE: &str = "EMBEDDING_API_KEY";

/// The client of the embedding server that a config names. Does not connect yet.
pub fn connect(
    server: &EmbeddingServer,
    key: Option<&str>,
    cache_folder: Option<&Path>,
    pool: &HttpPool,
    runtime: Handle,
) -> Result<Arc<dyn Embedder>, HttpError> {
    Ok(Arc::new(client::EmbeddingClient::new(server, key, cache_folder, pool, runtime)?))
}
