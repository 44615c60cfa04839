//! The built-in model: the [`proxy_sentence_encoder`], unpacked when the first text is read.

mod embedder;

pub use embedder::BuiltinEmbedder;
pub use proxy_sentence_encoder::ModelError;

#[cfg(test)]
mod tests;
