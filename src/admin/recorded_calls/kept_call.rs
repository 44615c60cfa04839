//! A call as it is kept in memory: its facts, and what was sent, within limits.

use super::call_summary::{CallSummary, MAX_SERVER_CALLS, ServerCallSummary};
use crate::json::Raw;
use crate::model::CallRecord;

/// The maximum size of a text that is shown. Longer ones are cut.
pub(super) const MAX_SHOWN: usize = 64 << 10;
/// How much more is kept of a text that is cut, so that a secret at the end of what is shown is recognized as a whole.
pub(super) const MARGIN: usize = 8 << 10;
/// The maximum size of all texts of one call: its script may call any number of servers.
const MAX_TEXTS: usize = 1 << 20;

/// A call that somebody may look at.
#[derive(Debug)]
pub(in crate::admin) struct KeptCall {
    pub(in crate::admin) summary: CallSummary,
    /// The digest of the session script that decided.
    pub(super) policy: Option<String>,
    pub(super) params: Option<KeptText>,
    pub(super) result: Option<KeptText>,
    pub(super) server_calls: Vec<KeptServerCall>,
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
    pub(super) fn of(record: &CallRecord) -> Self {
        let summary = CallSummary::of(record);
        let mut room = MAX_TEXTS;
        let params = record.params.as_ref().map(|text| KeptText::within(&mut room, text));
        let result = record.result.as_ref().map(|text| KeptText::within(&mut room, text));
        let server_calls = record.server_calls.iter().take(MAX_SERVER_CALLS).map(|call| KeptServerCall {
            summary: ServerCallSummary::of(call),
            params: KeptText::within(&mut room, &call.params),
            result: call.result.as_ref().map(|text| KeptText::within(&mut room, text)),
        });
        let server_calls = server_calls.collect();
        let size = summary.size() * 2 + MAX_TEXTS - room;
        KeptCall { summary, policy: record.policy.as_deref().map(str::to_owned), params, result, server_calls, size }
    }

    /// How many bytes it takes in memory, roughly.
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
