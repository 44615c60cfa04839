//! A request for a page of a kept result: the arguments of `read_result`, or a URI.

use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::notes;
use super::own_items::id_of;
use super::path::Path;
use proxy_json::{Object, RawRef};

/// How much of a wrong id an error repeats, in characters.
const MAX_SHOWN: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadRequest {
    pub(crate) id: String,
    /// Counted from 1.
    pub(super) page: usize,
    pub(super) path: Path,
}

impl ReadRequest {
    /// Reads the params of a call of `read_result`.
    ///
    /// # Errors
    /// What is wrong with them, for the model.
    pub(crate) fn of_params(params: &RawRef) -> Result<Self, String> {
        let arguments = params.member("arguments").unwrap_or(RawRef::EMPTY_OBJECT);
        let arguments = Object::of(arguments).map_err(|error| format!("`arguments`: {error}"))?;
        let id = arguments.string("result").ok_or("`result` is missing or not a string: give the id of the result")?;
        let page = match arguments.get("page") {
            None => 1,
            Some(page) if page.get() == "null" => 1,
            // Some models send numbers as text.
            Some(page) => {
                let text = page.text();
                page_number(text.as_deref().unwrap_or(page.get()))?
            }
        };
        let path = match arguments.get("path") {
            Some(path) if path.get() != "null" => path.text().ok_or("`path` must be a string")?.into_owned(),
            _ => String::new(),
        };
        Ok(ReadRequest { id, page, path: Path::parse(&path)? })
    }

    /// Reads a URI such as `result://r_abcdefghijklmnop?page=2&path=items%5B0%5D`.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    pub(crate) fn of_uri(uri: &str) -> Result<Self, String> {
        let id = id_of(uri).ok_or("it is not the URI of a result")?;
        let query = uri.split_once('?').map_or("", |(_, query)| query);
        let mut page = 1;
        let mut path = String::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8().map_err(|_| format!("`{name}` is not UTF-8"))?;
            match name {
                "page" => page = page_number(&value)?,
                "path" => path = value.into_owned(),
                _ => return Err(format!("unknown parameter `{name}`: a result has `page` and `path`")),
            }
        }
        Ok(ReadRequest { id: id.to_owned(), page, path: Path::parse(&path)? })
    }

    /// The answer for an id of which nothing is kept, or nothing for whoever asks.
    pub(crate) fn not_kept(&self, keep: Duration) -> String {
        notes::not_kept(&self.shown_id(), keep)
    }

    /// The id in errors.
    pub(crate) fn shown_id(&self) -> String {
        self.id.chars().take(MAX_SHOWN).collect()
    }
}

fn page_number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|page| *page > 0).ok_or_else(|| "`page` must be a number of at least 1".to_owned())
}
