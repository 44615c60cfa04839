//! The keys of one issuer, kept up to date. While the issuer does not respond, the known keys stay in use.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;

use super::key_fetch::{self, FetchedKeys, KeySource};
use super::key_set::KeySet;
use crate::bearer::error::TokenError;
use crate::bearer::jwt::Jwt;
use proxy_model::operator_api::IssuerStatus;
use proxy_wire::http::Fetcher;

/// The least time between two fetches that tokens cause: anybody can send a token with a key that nobody has.
const MIN_INTERVAL: Duration = Duration::from_secs(30);
/// How long keys are valid if the issuer does not say, and the limits for what it can say.
const DEFAULT_AGE: Duration = Duration::from_secs(3600);
const MIN_AGE: Duration = Duration::from_secs(300);
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long keys stay in use after they should have been fetched again.
const GRACE: Duration = Duration::from_secs(24 * 3600);
/// The first and the longest wait after a failure, without any keys and with old ones.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);
const RETRY_WITH_KEYS: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(in crate::bearer) struct IssuerKeys {
    issuer: String,
    source: KeySource,
    fetcher: Arc<Fetcher>,
    state: Mutex<KeyState>,
    /// The fetches that tokens cause.
    caused: DefaultDirectRateLimiter,
    /// Held during a fetch: who waits for it takes what it brought.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct KeyState {
    keys: Option<Arc<KeySet>>,
    digest: [u8; 32],
    /// Increases whenever the keys change.
    generation: u64,
    /// The last fetch that brought keys.
    fetched: Option<Instant>,
    /// The end of the last fetch.
    attempted: Option<Instant>,
    age: Duration,
    failures: u32,
    error: Option<String>,
}

impl KeyState {
    /// The keys, unless they are too old.
    fn current(&self) -> Option<Arc<KeySet>> {
        let is_fresh = self.fetched.is_some_and(|fetched| fetched.elapsed() < self.age + GRACE);
        self.keys.clone().filter(|_| is_fresh)
    }
}

impl IssuerKeys {
    /// Begins to fetch the keys, and again whenever they should be. Ends when nobody holds the keys any more.
    pub(in crate::bearer) fn follow(issuer: &str, source: KeySource, fetcher: &Arc<Fetcher>) -> Arc<Self> {
        let keys = Arc::new(IssuerKeys {
            issuer: issuer.to_owned(),
            source,
            fetcher: Arc::clone(fetcher),
            state: Mutex::default(),
            caused: RateLimiter::direct(Quota::with_period(MIN_INTERVAL).expect("it is not zero")),
            fetching: tokio::sync::Mutex::default(),
        });
        tokio::spawn(refresh(Arc::downgrade(&keys)));
        keys
    }

    /// Whether these are the keys of this issuer at this place.
    pub(in crate::bearer) fn is_for(&self, issuer: &str, source: &KeySource) -> bool {
        self.issuer == issuer && self.source == *source
    }

    pub(in crate::bearer) fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    /// The keys with which a token can be checked. If none of them fits, the issuer may have new ones.
    pub(in crate::bearer) async fn for_token(self: &Arc<Self>, jwt: &Jwt<'_>) -> Result<Arc<KeySet>, TokenError> {
        let known = self.state.lock().current();
        if let Some(keys) = known.filter(|keys| keys.fits(jwt)) {
            return Ok(keys);
        }
        // In a task of its own: others wait for it, even if this client leaves.
        let (keys, asked) = (Arc::clone(self), Instant::now());
        let _ = tokio::spawn(async move { keys.refetch(asked).await }).await;
        self.state.lock().current().ok_or(TokenError::Unavailable { retry_after: LAST_RETRY })
    }

    async fn refetch(&self, asked: Instant) {
        let _fetching = self.fetching.lock().await;
        let is_answered = self.state.lock().attempted.is_some_and(|last| last >= asked);
        if !is_answered && self.caused.check().is_ok() {
            self.fetch().await;
        }
    }

    /// Fetches the keys. The caller holds `fetching`.
    async fn fetch(&self) {
        let outcome = key_fetch::fetch(&self.fetcher, &self.issuer, &self.source).await;
        let mut state = self.state.lock();
        state.attempted = Some(Instant::now());
        match outcome {
            Ok(FetchedKeys { keys, digest, max_age }) => {
                if state.failures > 0 || state.keys.is_none() {
                    tracing::info!(issuer = %self.issuer, keys = keys.len(), "fetched the keys of an issuer");
                }
                if state.digest != digest || state.keys.is_none() {
                    state.generation += 1;
                    (state.keys, state.digest) = (Some(Arc::new(keys)), digest);
                }
                state.fetched = state.attempted;
                state.age = max_age.unwrap_or(DEFAULT_AGE).clamp(MIN_AGE, MAX_AGE);
                (state.failures, state.error) = (0, None);
            }
            Err(reason) => {
                state.failures = state.failures.saturating_add(1);
                if state.error.as_ref() != Some(&reason) {
                    let rest = match state.current() {
                        Some(_) => "the known keys stay in use",
                        None => "requests with its tokens get 503 until it answers",
                    };
                    tracing::warn!("issuer `{}`: {reason}; {rest}", self.issuer);
                }
                state.error = Some(reason);
            }
        }
    }

    /// The time until the keys should be fetched again.
    fn wait(&self) -> Duration {
        let state = self.state.lock();
        match (state.failures, state.current()) {
            (0, _) => state.age.max(MIN_AGE),
            (failures, None) => (FIRST_RETRY * 2u32.pow(failures.saturating_sub(1).min(8))).min(LAST_RETRY),
            (_, Some(_)) => RETRY_WITH_KEYS,
        }
    }

    /// For `proxy status`.
    pub(in crate::bearer) fn report(&self) -> IssuerStatus {
        let state = self.state.lock();
        let keys = state.current();
        IssuerStatus {
            issuer: self.issuer.to_string(),
            ready: keys.is_some(),
            keys: keys.map_or(0, |keys| keys.len()),
            fetched_seconds_ago: state.fetched.map(|fetched| fetched.elapsed().as_secs()),
            error: state.error.clone(),
            ..IssuerStatus::default()
        }
    }
}

async fn refresh(keys: Weak<IssuerKeys>) {
    loop {
        let wait = {
            let Some(keys) = keys.upgrade() else { return };
            let _fetching = keys.fetching.lock().await;
            keys.fetch().await;
            keys.wait()
        };
        tokio::time::sleep(wait).await;
    }
}
