//! JSON as bytes that are carried, not re-encoded: raw values, edits of single members, canonical form, digests and
//! schema checks.

mod canonical;
mod object;
mod schema;
mod text;

pub use canonical::{canonical, digest};
pub use object::{Edit, Object, ObjectError};
pub use schema::{Schema, SchemaError};
pub use text::{MAX_DEPTH, Word, one_line, quote, raw, too_deep, valid};

/// A JSON value kept as the bytes that came in.
pub type Raw = Box<serde_json::value::RawValue>;
/// A borrowed one.
pub type RawRef = serde_json::value::RawValue;
