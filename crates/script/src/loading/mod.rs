//! From the text of a script to a parsed module: parsing, and what `load()` names.

pub(super) mod parse;
pub(super) mod resolve;
