//! Tool search, by words (`words`) and by meaning (`semantic`). `docs/internals/search-quality.md` describes the method
//! and its measured quality. It knows tool definitions but not callers.

pub mod semantic;
mod index;
mod index_cache;
mod names;
mod tokens;
mod tool;
mod weights;
mod words;

pub use index::{Hit, Index};
pub use index_cache::{IndexCache, SharedIndex};
pub use semantic::{EmbedError, Embedder};
pub use tokens::{beginning_of_tokens, estimate_tokens};
pub use tool::Tool;

#[cfg(test)]
mod tests;
