//! Search by meaning: a model turns tools and queries into vectors, and the search finds tools with vectors near the
//! query's, even without common words. The model is built in or runs on an embedding server.

mod builtin;
mod fusion;
mod priority;
mod segments;
pub mod server;
mod tool_text;
mod tool_vectors;
mod vector_cache;

use std::sync::Arc;

pub use builtin::{BuiltinEmbedder, ModelError};
pub(crate) use fusion::Ranked;
pub use fusion::{Fusion, Nearness};
pub(crate) use tool_vectors::ToolVectors;

/// The embedding of a text, of length 1.
pub type Vector = Arc<[f32]>;

/// Computes embedding vectors of texts. Its methods block the calling thread.
pub trait Embedder: std::fmt::Debug + Send + Sync {
    /// Identifies the model and its server. Vectors of different identities are not comparable.
    fn identity(&self) -> String;

    /// How its similarities are combined with the scores of words.
    fn fusion(&self) -> Fusion;

    /// One vector per text of a tool. Runs in the background and may take long.
    fn embed_tools(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError>;

    /// One vector for a query and for each of its parts, for which a client is waiting. None at all if the model cannot
    /// read the query.
    fn embed_query(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError>;
}

#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// Another attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// No attempt will succeed.
    #[error("{0}")]
    Unusable(String),
}
