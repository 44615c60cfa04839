//! Large messages must not occupy the runtime thread. They are parsed on tokio's blocking pool, and the few passes over
//! their bytes that remain on the runtime thread yield to other tasks in between.

use tokio::task::JoinError;

/// Below this size a pass over a message takes less time than a switch to another task or thread.
const LARGE_BYTES: usize = 128 << 10;

/// Yields to the other tasks of the runtime if a message has this many bytes.
pub async fn yield_if_large(bytes: usize) {
    if bytes > LARGE_BYTES {
        tokio::task::yield_now().await;
    }
}

/// Runs `work` over a message of this many bytes: in place if the message is small, on tokio's blocking pool otherwise.
/// Fails if the work on the blocking pool panics.
pub async fn off_thread_if_large<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    if bytes > LARGE_BYTES { tokio::task::spawn_blocking(work).await } else { Ok(work()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_large_messages_leave_the_thread() {
        let own = std::thread::current().id();
        let id = || std::thread::current().id();
        assert_eq!(off_thread_if_large(LARGE_BYTES, id).await.unwrap(), own);
        assert_ne!(off_thread_if_large(LARGE_BYTES + 1, id).await.unwrap(), own);
    }
}
