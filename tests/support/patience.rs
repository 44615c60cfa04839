//! One deadline for every wait, so generous that only a real fault reaches it.

use std::time::Duration;

use super::stderr_log::StderrLog;

pub const PATIENCE: Duration = Duration::from_secs(60);

/// For programs in other languages, which take seconds to start even when nothing else runs.
pub const LONG_PATIENCE: Duration = Duration::from_secs(180);

/// Waits for something to happen, or fails with what was awaited and what the other side wrote to stderr.
pub async fn within<T>(what: &str, log: &StderrLog, happening: impl Future<Output = T>) -> T {
    let patience = log.patience;
    match tokio::time::timeout(patience, happening).await {
        Ok(outcome) => outcome,
        Err(_) => panic!("waited {patience:?} in vain for {what}\n--- stderr ---\n{}", log.text()),
    }
}
