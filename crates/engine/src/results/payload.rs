//! What of a tool result is split into pages: what `unwrap()` returns in scripts.

use std::borrow::Cow;
use std::sync::Arc;

use super::size::TextSize;
use proxy_json::{Object, Raw, RawRef};

/// The part of a result that is split.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// Structured content, or text that is JSON: with the bytes of the server.
    Json(Raw),
    Text(Arc<str>),
}

impl Payload {
    pub(super) fn text(&self) -> &str {
        match self {
            Payload::Json(raw) => raw.get(),
            Payload::Text(text) => text,
        }
    }

    pub(super) fn is_json(&self) -> bool {
        matches!(self, Payload::Json(_))
    }

    /// The content of a JSON string is text.
    pub(super) fn of_json(raw: &RawRef) -> Self {
        match raw.text() {
            Some(text) => Payload::Text(text.into()),
            None => Payload::Json(raw.to_owned()),
        }
    }

    fn of_text(text: Cow<'_, str>) -> Self {
        // Only an array or an object can be cut between elements.
        let looks_like_json = text.trim_start().starts_with(['{', '[']);
        let parsed = looks_like_json.then(|| serde_json::from_str::<&RawRef>(&text).ok()).flatten();
        match parsed {
            Some(raw) => Payload::Json(raw.to_owned()),
            None => Payload::Text(text.into()),
        }
    }
}

/// A result whose payload is above a limit, taken apart.
pub(super) struct Oversized<'a> {
    pub(super) result: Object<'a>,
    pub(super) payload: Payload,
    pub(super) is_error: bool,
    pub(super) blocks: Vec<&'a RawRef>,
}

/// Takes a result apart if its payload is larger than the limit. `None` for results within the limit, and for what is
/// no final result: a question or a task.
pub(super) fn oversized(result: &RawRef, limit: TextSize) -> Option<Oversized<'_>> {
    let result = Object::of(result).ok()?;
    let kind = result.get("resultType").map(|_| result.string("resultType").unwrap_or_default());
    if result.get("task").is_some() || kind.is_some_and(|kind| kind != "complete") {
        return None;
    }
    let blocks: Vec<&RawRef> =
        result.get("content").and_then(RawRef::elements).map(Iterator::collect).unwrap_or_default();
    let is_error = result.get("isError").is_some_and(|flag| flag.get() == "true");
    let is_above = |text: &str| text.len() > limit.smallest_bytes() && limit.beginning_of(text) < text.len();
    let structured = result.get("structuredContent").filter(|content| content.get() != "null");
    let structured = structured.map(without_wrapper).filter(|content| is_above(content.get()));
    let text = joined_text(&blocks);
    let payload = match structured {
        // Of an error, the text says what is wrong, if there is any.
        Some(structured) if is_error && text.is_empty() => Payload::Text(structured.get().into()),
        Some(structured) if !is_error => Payload::of_json(structured),
        None if !is_above(&text) => return None,
        _ if is_error => Payload::Text(text.into()),
        _ => Payload::of_text(text),
    };
    Some(Oversized { result, payload, is_error, blocks })
}

/// `v` of a lone `{"result": v}`.
fn without_wrapper(structured: &RawRef) -> &RawRef {
    let only = || {
        let members = Object::of(structured).ok()?;
        (members.len() == 1).then(|| members.get("result")).flatten()
    };
    if structured.get().starts_with('{') { only().unwrap_or(structured) } else { structured }
}

/// All text blocks, one per line.
fn joined_text<'a>(blocks: &[&'a RawRef]) -> Cow<'a, str> {
    let mut texts = blocks.iter().filter_map(|block| text_of(block));
    let Some(first) = texts.next() else { return "".into() };
    texts.fold(first, |mut all, text| {
        let joined = all.to_mut();
        joined.push('\n');
        joined.push_str(&text);
        all
    })
}

/// The text of a text block.
pub(super) fn text_of(block: &RawRef) -> Option<Cow<'_, str>> {
    is_text(block).then(|| block.member("text")?.text()).flatten()
}

pub(super) fn is_text(block: &RawRef) -> bool {
    block.member("type").is_some_and(|kind| kind.text().as_deref() == Some("text"))
}
