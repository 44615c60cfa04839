//! A long message is read several times on the thread that serves everybody. Between two readings the others get a turn.

use crate::json::RawRef;

/// Shorter ones are read in less time than a turn takes.
const LONG: usize = 128 << 10;

pub async fn between_readings(body: Option<&RawRef>) {
    if body.is_some_and(|body| body.get().len() > LONG) {
        tokio::task::yield_now().await;
    }
}
