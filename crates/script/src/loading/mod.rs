//! Parses a script and resolves its `load()` statements.

pub(super) mod parse;
pub(super) mod resolve;
