//! Type signatures of tools, generated from their JSON Schemas for several languages.

mod client;
mod client_tool;
mod names;
mod python;
mod schema;
mod shape;
mod signature_parts;
mod star;
mod typescript;

pub use client::{python_client, typescript_client};
pub use client_tool::{ClientTool, HeaderArgument};
pub use names::{identifiers, is_identifier};
pub use python::python;
pub use schema::json_schema;
pub use signature_parts::SignatureParts;
pub use star::{signature, signatures};
pub use typescript::typescript;
