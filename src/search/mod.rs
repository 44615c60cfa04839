//! An index over tools: which of hundreds does a sentence mean? Words of names, descriptions and parameters are weighed
//! against those of the query; `docs/search.md` has the method and what it was measured to be worth.

mod analysed;
mod candidates;
mod index;
mod meaning;
mod misspelt;
mod names;
mod query;
mod score;
mod shelf;
mod text;
mod tokens;
mod weights;
mod words;

pub use index::{Hit, Index, Tool};
pub use meaning::{EmbedError, Embedder, Meaning};
pub use shelf::{SharedIndex, Shelf};
pub use tokens::estimate_tokens;

#[cfg(test)]
mod tests;
