//! A sentence encoder of six layers, fine-tuned to match requests with tools. It needs no server and no network: its weights
//! are part of the program and are unpacked when an [`Encoder`] is made. It knows nothing of the proxy.
//!
//! It is a package of its own so that development builds optimize it, without which a sentence would take seconds.

mod activation;
mod attention;
mod encoder;
mod linear;
mod packed;
mod tokenizer;

pub use encoder::Encoder;
pub use packed::{ModelError, ModelFiles};

#[cfg(test)]
mod tests;
