//! Decides when lists are fetched again.

use std::time::Duration;

use tokio::time::sleep;

use crate::transport::Signals;
use proxy_base::backoff::Backoff;
use proxy_model::ItemKind;

/// The pause between two listings, for a server that announces a change after every listing.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// The delays before a failed listing is repeated.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// The delays between the listings on one connection.
pub(crate) struct Relisting(Backoff);

impl Default for Relisting {
    fn default() -> Self {
        Relisting(Backoff::new(FIRST_RETRY, MAX_RETRY))
    }
}

impl Relisting {
    /// Waits until lists have changed, or until the failed ones are due again. Returns the kinds to list.
    pub(crate) async fn next(&mut self, signals: &Signals, failed: Vec<ItemKind>) -> Vec<ItemKind> {
        if failed.is_empty() {
            self.0.reset();
            sleep(MIN_INTERVAL).await;
            return signals.changed().await;
        }
        let (retry, mut kinds) = (self.0.next_delay(), failed);
        sleep(MIN_INTERVAL).await;
        tokio::select! {
            () = sleep(retry) => {}
            changed = signals.changed() => {
                kinds.extend(changed);
                kinds = ItemKind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect();
                // A change shortens the delay, but a server that announces changes and fails to list them must not cause
                // a busy loop.
                sleep(FIRST_RETRY).await;
            }
        }
        kinds
    }
}
