//! A page as a tool result, and as the contents of a resource.

use std::time::Duration;

use serde_json::json;

use super::kept_result::KeptResult;
use super::notes::{self, PageNote};
use super::own_items::uri_of;
use super::payload::is_text;
use super::read_request::ReadRequest;
use super::size::TextSize;
use proxy_json::{Object, Raw, RawRef, array, object, raw};
use proxy_search::estimate_tokens;

/// The member of `_meta` about the page.
const META: &str = "proxy/result";
const TEXT_TYPE: &RawRef = RawRef::string_literal("\"text\"");

/// Who gets a page.
#[derive(Clone, Debug)]
pub struct Addressee {
    /// The name of the tool that reads the other pages; `None` if its names are taken.
    pub reader: Option<&'static str>,
    /// Whether the client's revision has resource links.
    pub has_links: bool,
}

/// A page, its note and what belongs to it.
#[derive(Debug)]
pub(crate) struct PageContent {
    text: String,
    note: String,
    /// A link to the next page.
    link: Option<Raw>,
    meta: Option<serde_json::Value>,
    is_json: bool,
}

impl PageContent {
    /// The first page of a result. Without an id, the others are not kept.
    pub(super) fn first(kept: &KeptResult, id: Option<&str>, keep: Duration, addressee: &Addressee) -> Self {
        Self::numbered(kept, id, 1, "", keep, addressee)
    }

    /// The page that was asked for, of a whole result or of the part at the path.
    pub(super) fn of(
        kept: &KeptResult,
        request: &ReadRequest,
        keep: Duration,
        addressee: &Addressee,
    ) -> Result<Self, String> {
        let pages = kept.pages.len();
        if request.page > pages {
            return Err(format!("there is no page {}: the last one is {pages}", request.page));
        }
        Ok(Self::numbered(kept, Some(&request.id), request.page, request.path.text(), keep, addressee))
    }

    fn numbered(
        kept: &KeptResult,
        id: Option<&str>,
        number: usize,
        path: &str,
        keep: Duration,
        addressee: &Addressee,
    ) -> Self {
        let pages = &kept.pages;
        let page =
            PageNote { number, pages: pages.len(), tokens: pages.tokens_of(number), all_tokens: pages.tokens(), path };
        let is_json = kept.payload.is_json();
        let next = if number < pages.len() && addressee.has_links { id } else { None };
        PageContent {
            text: pages.text(kept.payload.text(), number).unwrap_or_default(),
            note: match id {
                Some(id) if number == 1 && path.is_empty() => {
                    page.of_kept(id, addressee.reader, &notes::details(kept, keep))
                }
                Some(id) => page.of_kept(id, addressee.reader, ""),
                None => page.of_lost(),
            },
            link: next.map(|id| link(&uri_of(id, number + 1, path), &kept.tool.name, number + 1, is_json)),
            meta: Some(notes::meta(id, &page)),
            is_json,
        }
    }

    /// The original result with this page in place of its text. Blocks other than text stay; structured content goes, since
    /// it would be cut short.
    pub(super) fn in_place_of(&self, result: &Object<'_>, blocks: &[&RawRef]) -> Raw {
        let mut content = Vec::with_capacity(blocks.len() + 3);
        let text = raw(&self.text);
        let first = blocks.iter().find(|block| is_text(block)).and_then(|block| Object::of(block).ok());
        content.push(match &first {
            Some(block) => block.edit().set("text", &text).finish_raw(),
            None => text_block(&text),
        });
        content.push(text_block(&raw(&self.note)));
        content.extend(self.link.clone());
        content.extend(blocks.iter().filter(|block| !is_text(block)).map(|block| (*block).to_owned()));
        let content = array(&content);
        let mut edit = result.edit();
        edit.set("content", &content).remove("structuredContent");
        if let Some(meta) = &self.meta {
            let own = raw(meta);
            let with_own = match result.get("_meta").map(Object::of) {
                Some(Ok(meta)) => meta.edit().set(META, &own).finish_raw(),
                _ => object([(META, &own)]),
            };
            edit.set("_meta", &with_own);
        }
        edit.finish_raw()
    }

    /// The result of `read_result`.
    pub(crate) fn as_tool_result(&self) -> Raw {
        match Object::of(RawRef::EMPTY_OBJECT) {
            Ok(empty) => self.in_place_of(&empty, &[]),
            Err(_) => RawRef::NULL.to_owned(),
        }
    }

    /// The result of reading the resource.
    pub(crate) fn as_contents(&self, uri: &str) -> Raw {
        let mut contents = json!({"uri": uri, "mimeType": mime_type(self.is_json), "text": self.text});
        if let Some(meta) = &self.meta {
            contents["_meta"] = json!({META: meta});
        }
        raw(&json!({"contents": [contents]}))
    }
}

/// The beginning of an error, of which nothing is kept.
pub(super) fn of_error(text: &str, limit: TextSize) -> PageContent {
    let beginning = &text[..limit.beginning_of(text)];
    PageContent {
        text: beginning.to_owned(),
        note: notes::of_error(estimate_tokens(beginning), estimate_tokens(text)),
        link: None,
        meta: None,
        is_json: false,
    }
}

fn text_block(text: &RawRef) -> Raw {
    object([("type", TEXT_TYPE), ("text", text)])
}

fn mime_type(is_json: bool) -> &'static str {
    if is_json { "application/json" } else { "text/plain" }
}

/// A link to a page.
fn link(uri: &str, tool: &str, page: usize, is_json: bool) -> Raw {
    let name = format!("{tool}, page {page}");
    let mime_type = mime_type(is_json);
    raw(&json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": mime_type}))
}
