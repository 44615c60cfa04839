//! A call as it is kept in memory: its facts, and its params and results within limits.

use std::sync::Arc;

use super::call_details::EventDetails;
use super::call_summary::{CallSummary, MAX_SERVER_CALLS, ServerCallSummary};
use proxy_json::Raw;
use proxy_model::CallRecord;

/// The maximum size of a displayed text. Longer texts are cut.
pub(super) const MAX_SHOWN: usize = 64 << 10;
/// How much more of a cut text is kept, so that a secret at the end of the displayed part is recognized as a whole.
pub(super) const MARGIN: usize = 8 << 10;
/// The maximum size of all texts of one call: its script may call any number of servers.
const MAX_TEXTS: usize = 1 << 20;

/// A call that can be inspected.
#[derive(Debug)]
pub(in crate::admin) struct KeptCall {
    pub(in crate::admin) summary: CallSummary,
    /// The digest of the session script in use.
    pub(super) policy: Option<String>,
    pub(super) params: Option<KeptText>,
    pub(super) result: Option<KeptText>,
    pub(super) server_calls: Vec<KeptServerCall>,
    pub(super) events: Vec<EventDetails>,
    /// The record itself, if nothing in it was cut. It shares its texts with the fields above.
    whole: Option<Arc<CallRecord>>,
    size: usize,
}

#[derive(Debug)]
pub(super) struct KeptServerCall {
    pub(super) summary: ServerCallSummary,
    pub(super) params: KeptText,
    pub(super) result: Option<KeptText>,
}

/// JSON that was sent.
#[derive(Debug)]
pub(super) enum KeptText {
    Whole(Raw),
    /// The beginning of a longer text.
    Cut {
        head: String,
        bytes: usize,
    },
}

impl KeptCall {
    pub(super) fn of(record: &Arc<CallRecord>) -> Self {
        let summary = CallSummary::of(record);
        let mut room = MAX_TEXTS;
        let params = record.params.as_ref().map(|text| KeptText::within(&mut room, text));
        let result = record.result.as_ref().map(|text| KeptText::within(&mut room, text));
        let server_calls = record.server_calls.iter().take(MAX_SERVER_CALLS).map(|call| KeptServerCall {
            summary: ServerCallSummary::of(call, record.began),
            params: KeptText::within(&mut room, &call.params),
            result: call.result.as_ref().map(|text| KeptText::within(&mut room, text)),
        });
        let server_calls: Vec<KeptServerCall> = server_calls.collect();
        let handled = record.replay.handled.as_ref().and_then(|handled| handled.result.as_ref());
        let is_shared = |text: &&Raw| record.result.as_ref().is_some_and(|result| Arc::ptr_eq(result, text));
        let handled = handled.filter(|text| !is_shared(text)).map(|text| KeptText::within(&mut room, text));
        let texts = params.iter().chain(&result).chain(&handled);
        let called = server_calls.iter().flat_map(|call| std::iter::once(&call.params).chain(&call.result));
        let is_whole = texts.chain(called).all(|text| matches!(text, KeptText::Whole(_)))
            && record.server_calls.len() <= MAX_SERVER_CALLS;
        let whole = is_whole.then(|| Arc::clone(record));
        let events: Vec<EventDetails> =
            record.events.iter().map(|event| EventDetails::of_record(event, record.began)).collect();
        let said: usize = events.iter().map(|event| 100 + event.text.as_ref().map_or(0, String::len)).sum();
        let size = summary.size() * 2 + MAX_TEXTS - room + said;
        KeptCall {
            summary,
            policy: record.policy.as_deref().map(str::to_owned),
            params,
            result,
            server_calls,
            events,
            whole,
            size,
        }
    }

    /// The whole record; `None` if it is too large to keep.
    pub(in crate::admin) fn whole(&self) -> Option<Arc<CallRecord>> {
        self.whole.clone()
    }

    /// Its approximate size in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }
}

impl KeptText {
    /// As much of the text as fits.
    fn within(room: &mut usize, text: &Raw) -> Self {
        let bytes = text.get().len();
        if bytes <= MAX_SHOWN.min(*room) {
            *room -= bytes;
            return KeptText::Whole(Raw::clone(text));
        }
        let end = text.get().floor_char_boundary((MAX_SHOWN + MARGIN).min(*room));
        *room -= end;
        KeptText::Cut { head: text.get()[..end].to_owned(), bytes }
    }
}
