//! The built-in model: a sentence encoder of six layers, fine-tuned to match requests with tools. It needs no server and no
//! network. Its weights are part of the program and are unpacked when the first text is read.

mod embedder;
mod encoder;
mod matrix;
mod packed;
mod tokenizer;

pub use embedder::BuiltinEmbedder;
pub use packed::ModelError;

#[cfg(test)]
mod tests;
