//! Logs policies that cannot be evaluated, each at most once a minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct ErrorLog(Mutex<HashMap<Arc<str>, Instant>>);

impl ErrorLog {
    /// Logs that a policy failed. Its error never holds values of arguments: Cedar names types and attributes only.
    pub(super) fn failed(&self, policy: &Arc<str>, effect: &'static str, error: &str) {
        if self.is_due(policy, Instant::now()) {
            let consequence = if effect == "forbid" { "so it denies" } else { "so it permits nothing" };
            tracing::warn!(policy = %policy, "a `{effect}` policy cannot be evaluated, {consequence}: {error}");
        }
    }

    fn is_due(&self, policy: &Arc<str>, now: Instant) -> bool {
        let mut last = self.0.lock();
        let is_due = last.get(policy).is_none_or(|last| now.duration_since(*last) >= INTERVAL);
        if is_due {
            last.insert(Arc::clone(policy), now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_is_logged_once_a_minute() {
        let (log, now) = (ErrorLog::default(), Instant::now());
        let (one, other): (Arc<str>, Arc<str>) = ("a.cedar:1".into(), "a.cedar:2".into());
        assert!(log.is_due(&one, now) && log.is_due(&other, now));
        assert!(!log.is_due(&one, now + Duration::from_secs(59)));
        assert!(log.is_due(&one, now + Duration::from_secs(60)));
    }
}
