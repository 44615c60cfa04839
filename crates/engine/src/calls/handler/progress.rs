//! The progress of a request that a handler serves. Its client sees one sequence of growing values, whatever the handler
//! and the servers that it calls report.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use proxy_json::{Object, RawRef, raw};
use proxy_mcp_client::Peer;

/// The largest float up to which every integer has a float of its own.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// What was reported so far, by the handler and by the servers.
#[derive(Debug, Default)]
pub(in crate::calls) struct RequestProgress {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<f64>,
    /// The last value that the handler itself reported.
    own: Option<f64>,
    /// How many calls of servers have begun whose progress is passed on.
    calls: usize,
}

impl RequestProgress {
    /// Reports the handler's own progress. Where servers have already reported greater values, the report adds one to the
    /// last value, and no total is known.
    pub(in crate::calls) fn report(&self, peer: &dyn Peer, params: &RawRef) {
        let mut state = self.state.lock();
        let Some(value) = value(params).filter(|value| is_greater(*value, state.own)) else { return };
        state.own = Some(value);
        if is_greater(value, state.last) {
            state.last = Some(value);
            peer.progress(params);
        } else {
            state.count_up(peer, params);
        }
    }

    /// The progress of a call that begins now. A call that is not relayed takes no part in the counting.
    pub(in crate::calls) fn begin(self: &Arc<Self>, is_relayed: bool) -> Arc<CallProgress> {
        if is_relayed {
            self.state.lock().calls += 1;
        }
        Arc::new(CallProgress { request: Arc::clone(self), is_relayed, last: Mutex::default() })
    }
}

impl State {
    /// Sends a report whose own value does not fit into the sequence.
    fn count_up(&mut self, peer: &dyn Peer, params: &RawRef) {
        let next = self.last.map_or(1.0, |last| last + 1.0);
        let (true, Ok(object)) = (is_greater(next, self.last), Object::of(params)) else { return };
        self.last = Some(next);
        peer.progress(&object.edit().set("progress", &number(next)).remove("total").finish_raw());
    }
}

/// The progress of one call that a handler makes.
#[derive(Debug)]
pub(in crate::calls) struct CallProgress {
    request: Arc<RequestProgress>,
    is_relayed: bool,
    /// The last value of this call.
    last: Mutex<Option<f64>>,
}

impl CallProgress {
    /// Relays progress. While there is only one call, its values are relayed unchanged. Once a second call has begun, the
    /// values of one call no longer describe the request: every report then adds one to the last value, and there is no
    /// total. Once the handler reports its own progress, server progress is no longer relayed.
    pub(in crate::calls) fn relay(&self, peer: &dyn Peer, params: &RawRef) {
        let (true, Some(value)) = (self.is_relayed, value(params)) else { return };
        // Held while sending, so that the reports of concurrent calls leave in the order of their values.
        let mut state = self.request.state.lock();
        let mut last = self.last.lock();
        if state.own.is_some() || !is_greater(value, *last) {
            return;
        }
        *last = Some(value);
        if state.calls < 2 {
            if is_greater(value, state.last) {
                state.last = Some(value);
                peer.progress(params);
            }
            return;
        }
        state.count_up(peer, params);
    }

    /// The call ended with a question of an extension. It will run again, which is not a second call.
    pub(in crate::calls) fn interrupted(&self) {
        if self.is_relayed {
            let mut state = self.request.state.lock();
            state.calls = state.calls.saturating_sub(1);
        }
    }
}

fn value(params: &RawRef) -> Option<f64> {
    Object::of(params).ok()?.get("progress")?.get().parse().ok()
}

fn is_greater(value: f64, last: Option<f64>) -> bool {
    last.is_none_or(|last| value > last)
}

/// Whole numbers are written as such.
fn number(value: f64) -> proxy_json::Raw {
    if value.fract() == 0.0 && value.abs() < MAX_EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        return raw(&json!(value as i64));
    }
    raw(&json!(value))
}
