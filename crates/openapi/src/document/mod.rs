//! The files of a description as trees, and what their references mean.

mod documents;
mod node;
mod read;
mod reference;

pub use documents::OtherFiles;
pub(crate) use documents::{Documents, Key, Place};
pub(crate) use node::{Node, NodeMap};
pub(crate) use read::{read_json, read_value};
