//! An index over tools: which of hundreds does a sentence mean? Words of names, descriptions and parameters are weighed
//! against those of the query; `docs/search.md` has the method and what it was measured to be worth.

pub mod embedding;
mod analysed;
mod candidates;
mod index;
mod semantic;
mod typos;
mod names;
mod query;
mod score;
mod index_cache;
mod text;
mod tokens;
mod weights;
mod words;

pub use index::{Hit, Index, Tool};
pub use index_cache::{SharedIndex, Shelf};
pub use semantic::{EmbedError, Embedder, Semantic};
pub use tokens::estimate_tokens;

#[cfg(test)]
mod tests;
