//! Tool definitions for each protocol revision. Members that a revision does not define are removed; everything else is
//! preserved byte for byte.

use std::borrow::Cow;

use super::listing::Listing;
use proxy_json::{Object, Raw, RawRef, object, raw};
use proxy_wire::Revision;

/// The listed tools for clients of one revision; `None` if no definition changes.
pub(crate) fn tools_for(revision: Revision, listed: &Listing) -> Option<Listing> {
    let converted: Vec<(usize, Cow<'_, str>)> =
        listed.items().map(|(index, item)| (index, tool_for(revision, item))).collect();
    let changed = converted.iter().any(|(_, item)| matches!(item, Cow::Owned(_)));
    changed.then(|| Listing::new(converted.iter().map(|(index, item)| (*index, item.as_ref()))))
}

/// The definition of one tool for clients of one revision.
pub(super) fn tool_for(revision: Revision, text: &str) -> Cow<'_, str> {
    let Ok(object) = Object::parse(text) else { return text.into() };
    let mut edit = object.edit();
    // Only 2025-11-25 defines `execution`.
    if object.get("execution").is_some() && revision != Revision::V2025_11_25 {
        edit.remove("execution");
    }
    // In session-based revisions structured content is an object. Clients may reject the whole list if an output schema
    // describes anything else.
    if !revision.is_stateless() && object.get("outputSchema").is_some_and(|schema| !describes_object(schema)) {
        edit.remove("outputSchema");
    }
    // 2025-03-26 defines the title only as an annotation.
    if revision == Revision::V2025_03_26
        && let Some(annotations) = titled(&object)
    {
        edit.set("annotations", &annotations);
    }
    if edit.is_empty() { text.into() } else { edit.finish().into() }
}

/// The listed tools, where those with these indices have no output schema; `None` if no definition changes.
pub(crate) fn without_output_schemas(listed: &Listing, is_narrowed: impl Fn(usize) -> bool) -> Option<Listing> {
    let without = |index: usize, text: &str| {
        if !is_narrowed(index) {
            return None;
        }
        let object = Object::parse(text).ok()?;
        object.get("outputSchema")?;
        Some(object.edit().remove("outputSchema").finish())
    };
    let converted: Vec<(usize, Cow<'_, str>)> = listed
        .items()
        .map(|(index, item)| (index, without(index, item).map_or(Cow::Borrowed(item), Cow::Owned)))
        .collect();
    let changed = converted.iter().any(|(_, item)| matches!(item, Cow::Owned(_)));
    changed.then(|| Listing::new(converted.iter().map(|(index, item)| (*index, item.as_ref()))))
}

fn describes_object(schema: &RawRef) -> bool {
    Object::of(schema).is_ok_and(|schema| schema.string("type").as_deref() == Some("object"))
}

/// The annotations with the tool's title added; `None` if the tool has no title or the annotations have one already.
fn titled(tool: &Object<'_>) -> Option<Raw> {
    let title = raw(&tool.string("title")?);
    let Some(annotations) = tool.get("annotations") else { return Some(object([("title", title)])) };
    let annotations = Object::of(annotations).ok()?;
    annotations.get("title").is_none().then(|| annotations.edit().set("title", &title).finish_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{ "name":"a", "x":1.10,"title":"A","execution":{"taskSupport":"optional"},"outputSchema":{"type":"array"},"annotations":{"z":1e2} }"#;

    #[test]
    fn each_revision_gets_what_it_has() {
        let without_execution =
            r#"{ "name":"a", "x":1.10,"title":"A","outputSchema":{"type":"array"},"annotations":{"z":1e2} }"#;
        assert_eq!(tool_for(Revision::V2026_07_28, TOOL), without_execution);
        assert_eq!(
            tool_for(Revision::V2025_11_25, TOOL),
            r#"{ "name":"a", "x":1.10,"title":"A","execution":{"taskSupport":"optional"},"annotations":{"z":1e2} }"#
        );
        let plain = r#"{ "name":"a", "x":1.10,"title":"A","annotations":{"z":1e2} }"#;
        assert_eq!(tool_for(Revision::V2025_06_18, TOOL), plain);
        assert_eq!(
            tool_for(Revision::V2025_03_26, TOOL),
            r#"{ "name":"a", "x":1.10,"title":"A","annotations":{"z":1e2,"title":"A"} }"#
        );
        assert_eq!(tool_for(Revision::V2024_11_05, TOOL), plain);
    }

    #[test]
    fn a_list_that_every_revision_has_is_not_copied() {
        let tools = [(0, r#"{"name":"a","outputSchema":{"type":"object"}}"#), (1, r#"{"name":"b"}"#)];
        for revision in Revision::SUPPORTED {
            assert!(tools_for(revision, &Listing::new(tools.into_iter())).is_none(), "{revision:?}");
        }
    }

    #[test]
    fn tools_that_are_paged_lose_their_output_schema_and_nothing_else() {
        let tools = [
            (0, r#"{ "name":"a","outputSchema":{"type":"object"}, "x":1.10 }"#),
            (2, r#"{"name":"b","outputSchema":{}}"#),
        ];
        let listing = Listing::new(tools.into_iter());
        let narrowed = without_output_schemas(&listing, |index| index == 0).unwrap();
        assert_eq!(&*narrowed.text, r#"[{ "name":"a", "x":1.10 },{"name":"b","outputSchema":{}}]"#);
        assert!(without_output_schemas(&listing, |index| index == 7).is_none());
    }

    #[test]
    fn a_schema_without_a_type_is_no_object_s() {
        let tool = r#"{"name":"a","outputSchema":{"oneOf":[]}}"#;
        assert_eq!(tool_for(Revision::V2025_11_25, tool), r#"{"name":"a"}"#);
        assert_eq!(tool_for(Revision::V2026_07_28, tool), tool);
    }
}
