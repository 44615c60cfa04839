//! What sign-ins ask of issuers. They are begun by people whom nobody knows yet, so it is little, however many there are:
//! metadata are read once in a while, and few codes are redeemed at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::LogInError;
use super::terms::AuthorizationServer;

/// How long metadata are used before they are read again.
const GOOD_FOR: Duration = Duration::from_secs(5 * 60);
/// How long it takes until an issuer without metadata is asked again.
const BAD_FOR: Duration = Duration::from_secs(2);
/// How many codes are redeemed at a time. The others wait in the order in which they came.
const MAX_REDEEMED_AT_ONCE: usize = 8;
/// How many wait. Who comes then is told at once, instead of after minutes.
const MAX_WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct SignInIssuers {
    /// By issuer, as the config writes it.
    known: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Metadata>>>>>,
    /// Those who may wait, and those whose turn it is.
    admitted: Arc<Semaphore>,
    redeeming: Semaphore,
}

/// The place of one who waits for a turn to redeem a code, or has it.
#[derive(Debug)]
pub struct SignInPlace {
    /// The place is free again when this is dropped.
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Metadata {
    until: Instant,
    outcome: Result<AuthorizationServer, LogInError>,
}

impl Default for SignInIssuers {
    fn default() -> Self {
        SignInIssuers {
            known: Mutex::default(),
            admitted: Arc::new(Semaphore::new(MAX_REDEEMED_AT_ONCE + MAX_WAITING)),
            redeeming: Semaphore::new(MAX_REDEEMED_AT_ONCE),
        }
    }
}

impl SignInIssuers {
    /// The metadata of an issuer, which are read by one at a time.
    pub(super) async fn metadata(
        &self,
        issuer: &str,
        read: impl Future<Output = Result<AuthorizationServer, LogInError>>,
    ) -> Result<AuthorizationServer, LogInError> {
        let slot = Arc::clone(self.known.lock().entry(issuer.to_owned()).or_default());
        let mut known = slot.lock().await;
        if let Some(known) = known.as_ref().filter(|known| Instant::now() < known.until) {
            return known.outcome.clone();
        }
        let outcome = read.await;
        let until = Instant::now() + if outcome.is_ok() { GOOD_FOR } else { BAD_FOR };
        *known = Some(Metadata { until, outcome: outcome.clone() });
        outcome
    }

    /// A place among those who redeem codes.
    ///
    /// # Errors
    /// If too many wait.
    pub(super) fn place(&self) -> Result<SignInPlace, LogInError> {
        let busy = |_| LogInError::Busy("too many people are signing in at the moment: try again".to_owned());
        Arc::clone(&self.admitted).try_acquire_owned().map(|_permit| SignInPlace { _permit }).map_err(busy)
    }

    /// Waits for a turn to redeem a code.
    pub(super) async fn turn(&self, _place: &SignInPlace) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.redeeming.acquire().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    fn found() -> AuthorizationServer {
        AuthorizationServer::parse(&json!({"issuer": "https://a", "token_endpoint": "https://a/token"})).unwrap()
    }

    #[tokio::test]
    async fn many_who_come_at_once_read_the_metadata_of_an_issuer_once() {
        for is_good in [true, false] {
            let issuers = SignInIssuers::default();
            let reads = AtomicUsize::new(0);
            let read = || async {
                reads.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                if is_good { Ok(found()) } else { Err(LogInError::Unreachable("down".to_owned())) }
            };
            let all = futures::future::join_all((0..100).map(|_| issuers.metadata("https://a", read()))).await;
            assert!(all.iter().all(|outcome| outcome.is_ok() == is_good));
            assert_eq!(reads.load(Ordering::SeqCst), 1, "{is_good}");
            let _ = issuers.metadata("https://b", read()).await;
            assert_eq!(reads.load(Ordering::SeqCst), 2, "another issuer has others");
        }
    }

    #[tokio::test]
    async fn few_codes_are_redeemed_at_a_time() {
        let issuers = SignInIssuers::default();
        let mut turns = Vec::new();
        let place = issuers.place().unwrap();
        for _ in 0..MAX_REDEEMED_AT_ONCE {
            turns.push(issuers.turn(&place).await.unwrap());
        }
        let mut next = std::pin::pin!(issuers.turn(&place));
        assert!(futures::poll!(&mut next).is_pending());
        turns.pop();
        assert!(next.await.is_some());
    }

    #[tokio::test]
    async fn who_comes_when_many_wait_is_told_at_once() {
        let issuers = SignInIssuers::default();
        let mut places: Vec<_> = (0..MAX_REDEEMED_AT_ONCE + MAX_WAITING).map(|_| issuers.place().unwrap()).collect();
        assert!(matches!(issuers.place(), Err(LogInError::Busy(_))));
        places.pop();
        assert!(issuers.place().is_ok());
    }
}
