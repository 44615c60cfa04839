//! From the text of a script to a parsed module: sources, `load()`, and parsing.

pub(super) mod files;
pub(super) mod loader;
pub(super) mod parse;
pub(super) mod resolve;
pub(super) mod source;
