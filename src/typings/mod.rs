//! Tools as typed functions: what they take and give, read from their JSON Schemas and told in the words of a language.

mod names;
mod schema;
mod shape;
mod star;
mod typescript;

pub use names::{identifiers, is_identifier};
pub use schema::json_schema;
pub use star::{signature, signatures};
pub use typescript::typescript;
