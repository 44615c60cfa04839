//! Type signatures of tools, generated from their JSON Schemas for several languages.

mod names;
mod schema;
mod shape;
mod star;
mod typescript;

pub use names::{identifiers, is_identifier};
pub use schema::json_schema;
pub use star::{signature, signatures};
pub use typescript::typescript;
