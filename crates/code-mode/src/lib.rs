//! Code mode: tools as typed functions, and scripts of a model that call them, each in a process of its own. It knows Starlark,
//! schemas and processes. It calls no tool itself: the caller serves what a script asks for.

pub mod sandbox;
pub mod typings;
