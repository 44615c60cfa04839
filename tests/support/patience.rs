//! One deadline for every wait, so generous that only a real fault reaches it.

use std::time::Duration;

use super::stderr_log::StderrLog;

pub const PATIENCE: Duration = Duration::from_secs(10);

/// Waits for something to happen, or fails with what was awaited and what the other side wrote to stderr.
pub async fn within<T>(what: &str, log: &StderrLog, happening: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, happening).await {
        Ok(outcome) => outcome,
        Err(_) => panic!("waited {PATIENCE:?} in vain for {what}\n--- stderr ---\n{}", log.text()),
    }
}
