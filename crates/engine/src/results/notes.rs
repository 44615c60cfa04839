//! The note behind a page, by which a model knows what it has and how to get more.

use std::time::Duration;

use serde_json::json;

use super::kept_result::KeptResult;
use super::own_items::uri_of;
use super::path::path_to;
use super::payload::Payload;
use proxy_base::grouped_digits::grouped;
use proxy_json::quote;

/// How many elements the example of a path asks for.
const EXAMPLE: usize = 20;

/// Where a page belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageNote<'a> {
    pub(super) number: usize,
    pub(super) pages: usize,
    pub(super) tokens: usize,
    pub(super) all_tokens: usize,
    /// The path that was asked for; empty for the whole result.
    pub(super) path: &'a str,
}

impl PageNote<'_> {
    fn beginning(&self) -> String {
        let of = if self.path.is_empty() { String::new() } else { format!(" of {}", quote(self.path)) };
        let tokens = grouped(self.tokens as u64);
        let all = grouped(self.all_tokens as u64);
        format!("[page {} of {}{of}, {tokens} of {all} tokens", self.number, self.pages)
    }

    /// The note of a page of a kept result. `tool` is the name of the tool that reads the others.
    pub(super) fn of_kept(&self, id: &str, tool: Option<&str>, details: &str) -> String {
        let more = if self.number < self.pages { format!("; more: {}", self.next(id, tool)) } else { String::new() };
        format!("{}{more}{details}]", self.beginning())
    }

    pub(super) fn of_lost(&self) -> String {
        format!("{}; the rest could not be kept]", self.beginning())
    }

    fn next(&self, id: &str, tool: Option<&str>) -> String {
        let next = self.number + 1;
        let Some(tool) = tool else { return format!("the resource {}", uri_of(id, next, self.path)) };
        let path = if self.path.is_empty() { String::new() } else { format!(", \"path\": {}", quote(self.path)) };
        format!("{tool}({{\"result\": {}, \"page\": {next}{path}}})", quote(id))
    }
}

/// What the note of the first page says beyond that of the others: how to read a part, and how long.
pub(super) fn details(kept: &KeptResult, keep: Duration) -> String {
    let part = example(kept).map_or_else(String::new, |path| format!(", a part: \"path\": {}", quote(&path)));
    format!("{part}; kept {}", shown(keep))
}

/// A path to the first elements that the first page does not have.
fn example(kept: &KeptResult) -> Option<String> {
    let Payload::Json(value) = &kept.payload else { return None };
    let (position, first) = kept.pages.array()?;
    let path = path_to(value, position)?;
    Some(format!("{path}[{first}:{}]", first + EXAMPLE))
}

/// The note of an error that was cut off.
pub(super) fn of_error(tokens: usize, all_tokens: usize) -> String {
    let tokens = grouped(tokens as u64);
    let all = grouped(all_tokens as u64);
    format!("[the first {tokens} of {all} tokens; the rest of an error is not kept]")
}

/// The answer for an id that is not known, or not to be known by whoever asks.
pub(super) fn not_kept(id: &str, keep: Duration) -> String {
    format!("`{id}` is not kept: results are kept {} for whoever asked; call the tool again", shown(keep))
}

/// The `_meta` member about a page.
pub(super) fn meta(id: Option<&str>, page: &PageNote<'_>) -> serde_json::Value {
    let mut meta = json!({"page": page.number, "pages": page.pages, "tokens": page.all_tokens});
    if let Some(id) = id {
        meta["id"] = id.into();
    }
    meta
}

/// A time as people say it.
fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{seconds} s"),
        60..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
