//! Content negotiation: the headers `Accept` and `Content-Type`.

use ::http::HeaderMap;
use ::http::header::{ACCEPT, CONTENT_TYPE};

/// The response types that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

/// What most clients send.
const USUAL: &str = "application/json, text/event-stream";

impl Accepts {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        if headers.get(ACCEPT).is_some_and(|value| value == USUAL) {
            return Accepts { json: true, events: true };
        }
        let mut accepts = Accepts { json: false, events: false };
        let mut has_header = false;
        for value in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
            has_header = true;
            for range in value.split(',') {
                let kind = range.split(';').next().unwrap_or("").trim();
                let is = |names: [&str; 3]| names.iter().any(|name| kind.eq_ignore_ascii_case(name));
                accepts.json |= is(["application/json", "application/*", "*/*"]);
                accepts.events |= is(["text/event-stream", "text/*", "*/*"]);
            }
        }
        if has_header { accepts } else { Accepts { json: true, events: true } }
    }

    pub(super) fn nothing(self) -> bool {
        !self.json && !self.events
    }
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json"))
}
