//! JSON that is passed on as bytes instead of being re-encoded: raw values, edits of single members, canonical form, digests
//! and schema checks. It knows nothing about messages or files.

mod array;
mod build;
mod canonical;
mod differences;
mod duplicates;
mod hex;
mod object;
mod raw;
mod scan;
mod schema;
mod text;

pub use array::Elements;
pub use build::{array, object, push_quoted, quote, raw, valid};
pub use canonical::{canonical, digest};
pub use differences::differences;
pub use duplicates::check_unique_keys;
pub use hex::hex;
pub use object::{Edit, Object, ObjectError};
pub use raw::{Raw, RawRef};
pub use schema::{InvalidSchema, PatternState, Schema, SchemaMismatch, pattern_state, translation_cost};
pub use text::{MAX_DEPTH, Needle, one_line, too_deep};
