//! The built-in model: the [`sentence_encoder`], unpacked when the first text is read.

mod embedder;

pub use embedder::BuiltinEmbedder;
pub use sentence_encoder::ModelError;

#[cfg(test)]
mod tests;
