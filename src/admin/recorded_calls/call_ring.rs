//! The most recent calls, within a memory limit.

use std::collections::VecDeque;
use std::sync::Arc;

use super::kept_call::KeptCall;

const MAX_CALLS: usize = 500;
const MAX_BYTES: usize = 16 << 20;
/// A shorter end of an id is not searched for, because it would match many calls.
const MIN_ID: usize = 4;

/// Why no call was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::admin) enum FindError {
    Unknown,
    /// Several ids have this ending.
    Ambiguous,
}

#[derive(Debug, Default)]
pub(super) struct CallRing {
    calls: VecDeque<Arc<KeptCall>>,
    bytes: usize,
}

impl CallRing {
    /// Adds a call and drops the oldest ones that no longer fit.
    pub(super) fn push(&mut self, call: Arc<KeptCall>) {
        self.bytes += call.size();
        self.calls.push_back(call);
        while self.calls.len() > MAX_CALLS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.calls.pop_front() else { return };
            self.bytes -= oldest.size();
        }
    }

    /// All calls, oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<KeptCall>> {
        self.calls.iter()
    }

    /// The call with this id, or with the only id that has this ending.
    pub(super) fn find(&self, id: &str) -> Result<Arc<KeptCall>, FindError> {
        let fits = |call: &&Arc<KeptCall>| id.len() >= MIN_ID && call.summary.id.ends_with(id);
        let mut fitting = self.calls.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (None, _) => Err(FindError::Unknown),
            (Some(only), None) => Ok(Arc::clone(only)),
            (Some(_), Some(_)) => Err(FindError::Ambiguous),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = CallRing::default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::admin::recorded_calls::call_details::CallDetails;
    use crate::admin::recorded_calls::kept_call::MAX_SHOWN;
    use proxy_json::{Raw, raw};
    use proxy_model::{CallOutcome, CallRecord, Principal, ServerCallRecord};

    fn record(id: &str, result: Raw) -> CallRecord {
        CallRecord {
            id: id.to_owned(),
            duration: Duration::from_micros(1234),
            item: None,
            principal: Principal::named("ann"),
            params: Some(raw(&serde_json::json!({"name": "x"}))),
            result: Some(result),
            ..CallRecord::example()
        }
    }

    fn pushed(ring: &mut CallRing, record: &CallRecord) {
        ring.push(Arc::new(KeptCall::of(&Arc::new(record.clone()))));
    }

    #[test]
    fn the_oldest_calls_are_forgotten_by_number_and_by_size() {
        let mut ring = CallRing::default();
        for number in 0..MAX_CALLS + 3 {
            pushed(&mut ring, &record(&format!("id-{number:05}"), raw(&"small")));
        }
        assert_eq!(ring.all().count(), MAX_CALLS);
        assert_eq!(ring.find("00002").unwrap_err(), FindError::Unknown);
        assert_eq!(ring.find("00003").unwrap().summary.ms, 1.23);
        let large = raw(&"x".repeat(60_000));
        for number in 0..MAX_CALLS {
            pushed(&mut ring, &record(&format!("large-{number:05}"), Raw::clone(&large)));
        }
        assert!(ring.bytes <= MAX_BYTES, "{}", ring.bytes);
        assert!((200..300).contains(&ring.all().count()), "{}", ring.all().count());
    }

    #[test]
    fn a_call_is_found_by_the_end_of_its_id() {
        let mut ring = CallRing::default();
        for id in ["1-abcd", "2-abcd", "3-wxyz"] {
            pushed(&mut ring, &record(id, raw(&1)));
        }
        assert_eq!(ring.find("wxyz").unwrap().summary.id, "3-wxyz");
        assert_eq!(ring.find("abcd").unwrap_err(), FindError::Ambiguous);
        assert_eq!(ring.find("1-abcd").unwrap().summary.id, "1-abcd");
        assert_eq!(ring.find("xyz").unwrap_err(), FindError::Unknown, "too short");
        ring.clear();
        assert_eq!(ring.find("wxyz").unwrap_err(), FindError::Unknown);
    }

    #[test]
    fn a_long_text_is_cut_and_marked_and_no_secret_is_cut_in_two() {
        let mut text = "x ".repeat(MAX_SHOWN / 2 - 100);
        text.push_str("ghp_0123456789012345678901234567890123456789");
        text.push_str(&" y".repeat(MAX_SHOWN));
        let kept = KeptCall::of(&Arc::new(record("1-abcd", raw(&text))));
        let shown = CallDetails::of(&kept, false).result.unwrap();
        let head = shown.head.unwrap();
        assert!(shown.json.is_none() && shown.bytes > 2 * MAX_SHOWN && head.len() <= MAX_SHOWN, "{}", head.len());
        assert!(head.contains("[secret]") && !head.contains("ghp_"));
        let shown = CallDetails::of(&kept, true).result.unwrap();
        assert!(shown.head.unwrap().contains("ghp_"));
    }

    #[test]
    fn a_call_with_very_many_calls_of_servers_is_kept_in_part() {
        let mut many = record("1-abcd", raw(&1));
        let call = ServerCallRecord {
            server: "s".into(),
            method: "tools/call".into(),
            began: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            params: raw(&"x".repeat(50_000)),
            result: None,
            outcome: CallOutcome::Ok,
            is_local: false,
            address: None,
            span: None,
        };
        many.server_calls = vec![call; 1000];
        let kept = KeptCall::of(&Arc::new(many));
        assert!(kept.size() < 2 << 20, "{}", kept.size());
        let details = CallDetails::of(&kept, false);
        assert_eq!((details.call.server_calls.len(), details.call.more_server_calls), (100, 900));
        assert_eq!(details.server_calls[99].params.head.as_deref(), Some(""), "there was no room left");
    }
}
