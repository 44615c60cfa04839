//! What the values that scripts get from built-ins have, for the reference.

use starlark::docs::{DocMember, DocProperty, DocString, DocType};
use starlark::typing::Ty;

use super::backends::backend::Backend;
use super::metadata::Metadata;
use super::metadata::fields::{FIELDS, NAMED};
use super::metadata::kinds::noun;
use super::search::index;
use crate::model::ItemKind;

/// The types with members of their own, by the name the documents use.
pub fn types() -> [(&'static str, DocType); 3] {
    [
        ("Backend", DocType::from_starlark_value::<Backend>()),
        ("metadata", metadata()),
        ("search_index", index::documented()),
    ]
}

/// Its methods, and the fields of all kinds.
fn metadata() -> DocType {
    let mut metadata = DocType::from_starlark_value::<Metadata>();
    let fields = FIELDS.iter().map(|field| (field.name, field.of, field.documentation));
    for (name, of, documentation) in fields.chain([("original_name", NAMED, "its name before any `.replace()`.")]) {
        let docs = DocString { summary: of_whom(of, documentation), details: None, examples: None };
        let property = DocProperty { docs: Some(docs), typ: Ty::any() };
        metadata.members.insert(name.to_owned(), DocMember::Property(property));
    }
    metadata
}

/// What not everything has says who has it.
fn of_whom(kinds: &[ItemKind], documentation: &str) -> String {
    let nouns: Vec<&str> = kinds.iter().map(|kind| noun(*kind)).collect();
    match &nouns[..] {
        _ if kinds.len() == ItemKind::ALL.len() => documentation.to_owned(),
        [first @ .., last] if !first.is_empty() => format!("Of a {} or {last}: {documentation}", first.join(", ")),
        _ => format!("Of a {}: {documentation}", nouns.concat()),
    }
}
