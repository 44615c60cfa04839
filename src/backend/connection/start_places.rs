//! Limits how many processes start at once: many servers that start together slow each other down until each of them
//! misses its `startTimeout`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The number of places on a machine with few cores.
const MIN_PLACES: usize = 4;
/// A server that takes longer to start waits for something other than the processor, so the next one may start.
const MAX_HOLD: Duration = Duration::from_secs(5);

/// The places for servers that are starting, granted in the order of requests.
#[derive(Clone, Debug)]
pub struct StartPlaces(Arc<Semaphore>);

impl StartPlaces {
    pub fn of_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new((2 * cores).max(MIN_PLACES))
    }

    fn new(places: usize) -> Self {
        StartPlaces(Arc::new(Semaphore::new(places)))
    }

    /// Waits for a place.
    pub(crate) async fn take(&self) -> StartPlace {
        let permit = Arc::clone(&self.0).acquire_owned().await;
        StartPlace(tokio::spawn(async move {
            let _permit = permit;
            tokio::time::sleep(MAX_HOLD).await;
        }))
    }
}

/// The place of a starting server. It becomes free when this is dropped, and after [`MAX_HOLD`] at the latest.
#[derive(Debug)]
pub(crate) struct StartPlace(JoinHandle<()>);

impl Drop for StartPlace {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_when_its_server_is_ready_or_after_five_seconds() {
        let places = StartPlaces::new(2);
        let first = places.take().await;
        let _second = places.take().await;
        assert!(timeout(Duration::from_secs(1), places.take()).await.is_err(), "both places are taken");
        drop(first);
        let began = Instant::now();
        let _third = places.take().await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        // One second has passed since the second server began.
        let _fourth = places.take().await;
        assert_eq!(began.elapsed(), Duration::from_secs(4));
    }
}
