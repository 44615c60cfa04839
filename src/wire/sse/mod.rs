//! Server-sent events: reading and writing.

mod parser;
mod writer;

pub use parser::{Event, Overflow, Parser};
pub use writer::{KEEP_ALIVE, event, priming};
