//! The documentation of the Starlark types that built-ins return, for the generated reference.

use starlark::docs::{DocMember, DocProperty, DocString, DocType};
use starlark::typing::Ty;

use super::backends::backend::BackendValue;
use super::metadata::Metadata;
use super::metadata::fields::{FIELDS, NAMED};
use super::search::index;
use crate::kinds::noun;
use proxy_model::ItemKind;

/// The types that have members, with the names used in the reference.
pub fn types() -> [(&'static str, DocType); 3] {
    [
        ("Backend", DocType::from_starlark_value::<BackendValue>()),
        ("metadata", metadata()),
        ("search_index", index::documented()),
    ]
}

/// The methods of metadata, and the fields of all kinds of item.
fn metadata() -> DocType {
    let mut metadata = DocType::from_starlark_value::<Metadata>();
    let fields = FIELDS.iter().map(|field| (field.name, field.item_kinds, field.documentation));
    for (name, of, documentation) in fields.chain([("original_name", NAMED, "the name before any `.replace()`.")]) {
        let docs = DocString { summary: qualified(of, documentation), details: None, examples: None };
        let property = DocProperty { docs: Some(docs), typ: Ty::any() };
        metadata.members.insert(name.to_owned(), DocMember::Property(property));
    }
    metadata
}

/// Prefixes the documentation of a field that only some kinds of item have.
fn qualified(kinds: &[ItemKind], documentation: &str) -> String {
    let nouns: Vec<&str> = kinds.iter().map(|kind| noun(*kind)).collect();
    match &nouns[..] {
        _ if kinds.len() == ItemKind::ALL.len() => documentation.to_owned(),
        [first @ .., last] if !first.is_empty() => {
            format!("Only for a {} or {last}: {documentation}", first.join(", "))
        }
        _ => format!("Only for a {}: {documentation}", nouns.concat()),
    }
}
