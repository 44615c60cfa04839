//! From the text of a script to a parsed module: sources, `load()`, and parsing.

pub(super) mod parse;
pub(super) mod resolve;
