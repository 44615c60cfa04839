//! Counts how code-mode scripts ended.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::exit_reason::ExitReason;
use crate::sandbox::protocol::ScriptResult;

/// How scripts end.
const OUTCOMES: [&str; 4] = ["ok", "error", "limit", "failed"];

/// The scripts that have ended, by how they did.
#[derive(Debug, Default)]
pub(super) struct RunCounts([AtomicU64; OUTCOMES.len()]);

impl RunCounts {
    pub(super) fn add(&self, end: &Result<ScriptResult, ExitReason>) {
        let index = match end {
            Ok(Ok(_)) => 0,
            Ok(Err(_)) => 1,
            Err(
                ExitReason::Memory
                | ExitReason::Output
                | ExitReason::Time
                | ExitReason::Calls
                | ExitReason::Depth
                | ExitReason::Source(_),
            ) => 2,
            Err(ExitReason::Lost(_) | ExitReason::Confused(_) | ExitReason::Unconfined | ExitReason::NotStarted(_)) => {
                3
            }
        };
        self.0[index].fetch_add(1, Relaxed);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        OUTCOMES.into_iter().zip(self.0.iter().map(|count| count.load(Relaxed)))
    }
}
