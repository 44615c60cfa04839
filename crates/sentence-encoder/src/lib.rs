//! A six-layer sentence encoder, fine-tuned to match requests with tools. It needs no server and no network: the
//! weights are embedded in the binary and unpacked when an [`Encoder`] is created. It knows nothing about the proxy.
//!
//! It is a separate package so that development builds can optimize it; unoptimized, encoding a sentence takes seconds.

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
