//! Metadata of tools, resources, resource templates and prompts: the Starlark value, its fields and its constructors.

pub(super) mod carrier;
mod checks;
pub(super) mod fields;
pub(super) mod make;
pub(super) mod names;
pub(super) mod validity;
pub(super) mod value;

pub use checks::ArgumentChecks;
pub(super) use value::Metadata;
