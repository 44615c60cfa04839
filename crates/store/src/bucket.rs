//! A token bucket in integer arithmetic: exact for every limit and window, without drift.
//!
//! The crate `governor` does not fit: it rounds the time between two tokens to nanoseconds, has one quota per limiter
//! while scripts choose a quota per key, and cannot check several buckets before it takes a token from any of them.

use std::time::Duration;

/// A bucket of `tokens` that refills evenly over `window`. A key with another size or window names another bucket. The
/// `Display` form is the storage key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limit {
    key: String,
    tokens: u32,
    /// In microseconds.
    window: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error("the key of a rate limit must have 1 to {MAX_LIMIT_KEY} characters")]
    Key,
    #[error("`limit` must be an integer from 1 to {MAX_TOKENS}")]
    Tokens,
    #[error("`window` must be between 0.001 seconds and a year")]
    Window,
}

const MAX_LIMIT_KEY: usize = 1024;
const MAX_TOKENS: u32 = 1_000_000_000;
const WINDOW_RANGE: [Duration; 2] = [Duration::from_millis(1), Duration::from_secs(366 * 24 * 3600)];

impl Limit {
    /// # Errors
    /// If the key, the number of tokens or the window is out of range.
    pub fn new(key: impl Into<String>, tokens: u32, window: Duration) -> Result<Self, LimitError> {
        let key = key.into();
        if key.is_empty() || key.chars().count() > MAX_LIMIT_KEY {
            return Err(LimitError::Key);
        }
        if tokens == 0 || tokens > MAX_TOKENS {
            return Err(LimitError::Tokens);
        }
        if window < WINDOW_RANGE[0] || window > WINDOW_RANGE[1] {
            return Err(LimitError::Window);
        }
        Ok(Limit { key, tokens, window: u64::try_from(window.as_micros()).map_err(|_| LimitError::Window)? })
    }

    pub(super) fn tokens(&self) -> u32 {
        self.tokens
    }

    /// In microseconds.
    pub(super) fn window(&self) -> u64 {
        self.window
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}:{}", self.tokens, self.window, self.key)
    }
}

/// The outcome of taking tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenDecision {
    pub allowed: bool,
    /// Microseconds until every bucket has a token again, if no other call takes one.
    wait: u64,
}

impl TokenDecision {
    pub(super) const ALLOWED: TokenDecision = TokenDecision { allowed: true, wait: 0 };

    pub(super) fn refused(wait: u64) -> Self {
        TokenDecision { allowed: false, wait }
    }

    /// Whole seconds, rounded up; 0 when allowed.
    pub fn retry_after(self) -> u64 {
        self.wait.div_ceil(1_000_000)
    }
}

/// The fill state of a bucket. One token is `window` units, and each microsecond restores `tokens` units, so refilling
/// needs no division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Units taken and not restored yet.
    used: u128,
    /// Time of the last update, in microseconds of the clock.
    updated_at: u64,
}

impl Bucket {
    /// The bucket after refilling until `now`.
    pub(super) fn refilled(self, limit: &Limit, now: u64) -> Self {
        let back = u128::from(now.saturating_sub(self.updated_at)) * u128::from(limit.tokens);
        Bucket { used: self.used.saturating_sub(back), updated_at: now.max(self.updated_at) }
    }

    /// Microseconds until a token is available; 0 if there is one. The bucket must have been refilled first.
    pub(super) fn wait(self, limit: &Limit) -> u64 {
        let free = u128::from(limit.window) * u128::from(limit.tokens - 1);
        let missing = self.used.saturating_sub(free).div_ceil(u128::from(limit.tokens));
        u64::try_from(missing).unwrap_or(u64::MAX)
    }

    pub(super) fn with_token_taken(self, limit: &Limit) -> Self {
        Bucket { used: self.used + u128::from(limit.window), ..self }
    }

    /// When the bucket is full again and need not be stored any more.
    pub(super) fn full_at(self, limit: &Limit) -> u64 {
        let missing = self.used.div_ceil(u128::from(limit.tokens));
        self.updated_at.saturating_add(u64::try_from(missing).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn limit(tokens: u32, window: u64) -> Limit {
        Limit::new("key", tokens, Duration::from_secs(window)).unwrap()
    }

    fn take(bucket: &mut Bucket, limit: &Limit, now: u64) -> u64 {
        *bucket = bucket.refilled(limit, now);
        let wait = bucket.wait(limit);
        if wait == 0 {
            *bucket = bucket.with_token_taken(limit);
        }
        wait
    }

    #[test]
    fn a_bucket_gives_all_it_holds_at_once_and_then_one_at_a_time() {
        let (limit, mut bucket) = (limit(3, 60), Bucket::default());
        assert_eq!([0; 3].map(|_| take(&mut bucket, &limit, 0)), [0; 3]);
        assert_eq!(take(&mut bucket, &limit, 0), 20 * SECOND);
        assert_eq!(take(&mut bucket, &limit, 20 * SECOND - 1), 1);
        assert_eq!(take(&mut bucket, &limit, 20 * SECOND), 0);
        assert_eq!(take(&mut bucket, &limit, 20 * SECOND), 20 * SECOND);
    }

    #[test]
    fn a_refill_that_does_not_divide_evenly_loses_nothing() {
        // 7 in 60 s: a token every 8.571428... s. After many windows there are exactly as many as there should be.
        let (limit, mut bucket) = (limit(7, 60), Bucket::default());
        let mut now = 0;
        let mut given = 0;
        while now < 6_000 * SECOND {
            let wait = take(&mut bucket, &limit, now);
            given += u32::from(wait == 0);
            now += wait;
        }
        assert_eq!(given, 7 + 700 - 1, "7 at once, then 7 a window, the last of which comes at the very end");
    }

    #[test]
    fn a_long_rest_fills_it_and_not_more() {
        let (limit, mut bucket) = (limit(2, 10), Bucket::default());
        take(&mut bucket, &limit, 0);
        assert_eq!(bucket.full_at(&limit), 5 * SECOND);
        let with_token_taken = [0; 3].map(|_| take(&mut bucket, &limit, 1_000_000 * SECOND));
        assert_eq!(with_token_taken, [0, 0, 5 * SECOND]);
    }

    #[test]
    fn a_clock_that_goes_back_gives_no_tokens() {
        let (limit, mut bucket) = (limit(1, 10), Bucket::default());
        assert_eq!(take(&mut bucket, &limit, 100 * SECOND), 0);
        assert_eq!(take(&mut bucket, &limit, 50 * SECOND), 10 * SECOND);
    }

    #[test]
    fn seconds_are_rounded_up() {
        assert_eq!(TokenDecision::refused(1).retry_after(), 1);
        assert_eq!(TokenDecision::refused(20 * SECOND).retry_after(), 20);
        assert_eq!(TokenDecision::refused(20 * SECOND + 1).retry_after(), 21);
        assert_eq!(TokenDecision::ALLOWED.retry_after(), 0);
    }

    #[test]
    fn impossible_buckets_are_refused() {
        let second = Duration::from_secs(1);
        assert_eq!(Limit::new("", 1, second), Err(LimitError::Key));
        assert_eq!(Limit::new("k", 0, second), Err(LimitError::Tokens));
        assert_eq!(Limit::new("k", 1, Duration::ZERO), Err(LimitError::Window));
        assert_eq!(Limit::new("k", 1, Duration::from_secs(u64::MAX)), Err(LimitError::Window));
    }
}
