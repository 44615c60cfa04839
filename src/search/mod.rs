//! Full-text search over tools. The words of a query are scored against names, descriptions and parameters, optionally
//! combined with embeddings; `docs/search.md` describes the method and its measured quality.

pub mod embedding;
mod analyzed_tool;
mod candidates;
mod indexed_tool;
mod index;
mod semantic;
mod typos;
mod names;
mod query;
mod score;
mod index_cache;
mod tool;
mod tokens;
mod vocabulary;
mod weights;
mod word_analyzer;

pub use index::{Hit, Index};
pub use index_cache::{IndexCache, SharedIndex};
pub use semantic::{EmbedError, Embedder, Semantic};
pub use tokens::estimate_tokens;
pub use tool::Tool;

#[cfg(test)]
mod tests;
