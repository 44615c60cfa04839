//! The steps for schemas: one file per step, each a function of a schema. A step that takes a constraint from a schema
//! says so, and the schema tells it in a description.

mod constants;
mod enums;
mod items;
mod keywords;
mod properties;
mod property_names;
mod references;
mod root_union;
mod types;
mod walk;

pub(crate) use constants::constants_to_enums;
pub(crate) use enums::drop_enums;
pub(crate) use items::complete_items;
pub(crate) use keywords::drop_keywords;
pub(crate) use properties::complete_properties;
pub(crate) use property_names::rename_properties;
pub(crate) use references::inline_references;
pub(crate) use root_union::merge_root_union;
pub(crate) use types::single_types;
