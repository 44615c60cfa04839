//! Server-sent events: parser and encoder.

mod parser;
mod writer;

pub use parser::{Event, Overflow, Parser};
pub use writer::{KEEP_ALIVE, closing, event, priming};
