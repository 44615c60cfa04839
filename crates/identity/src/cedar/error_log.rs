//! Logs policies that cannot be evaluated, each at most once a minute.

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

#[derive(Debug)]
pub(super) struct ErrorLog(DefaultKeyedRateLimiter<Arc<str>>);

impl Default for ErrorLog {
    fn default() -> Self {
        ErrorLog(RateLimiter::keyed(Quota::per_minute(NonZeroU32::MIN)))
    }
}

impl ErrorLog {
    /// Logs that a policy failed. Its error never holds values of arguments: Cedar names types and attributes only.
    pub(super) fn failed(&self, policy: &Arc<str>, effect: &'static str, error: &str) {
        if self.0.check_key(policy).is_ok() {
            let consequence = if effect == "forbid" { "so it denies" } else { "so it permits nothing" };
            tracing::warn!(policy = %policy, "a `{effect}` policy cannot be evaluated, {consequence}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_is_logged_once_a_minute() {
        let ErrorLog(limiter) = ErrorLog::default();
        let one = "a.cedar:1".into();
        assert!(limiter.check_key(&one).is_ok() && limiter.check_key(&"a.cedar:2".into()).is_ok());
        assert!(limiter.check_key(&one).is_err());
    }
}
