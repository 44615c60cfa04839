//! The open connections of a listener. If there are too many, the one that has been idle the longest is closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::outbound::OutboundConnection;
use proxy_fiber::{LoadingConnection, LoadingRequest};

/// The state of one connection.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    /// Requests without a complete response.
    running: AtomicUsize,
    /// Whether there has been a request.
    was_used: AtomicBool,
    idle_since: Mutex<Instant>,
    load: LoadingConnection,
    /// Cancelled when the connection has to make room.
    pub(super) close: CancellationToken,
    /// Notified when a request of any connection has ended.
    ended: Arc<Notify>,
}

impl ConnectionSlot {
    /// Marks the connection as busy until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RunningRequest {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.was_used.store(true, Ordering::Relaxed);
        RunningRequest { slot: Arc::clone(self), _load: self.load.request() }
    }

    /// Completes once the client has sent no request for `next`, or for `first` since it connected. A request counts when its
    /// head is complete. While bytes of a response wait for the client, this does not complete.
    pub(super) async fn silent(&self, first: Duration, next: Duration, outbound: &OutboundConnection) {
        loop {
            let limit = if self.was_used.load(Ordering::Relaxed) { next } else { first };
            let is_waiting = self.is_idle() && outbound.waiting() == 0;
            let since = if is_waiting { *self.idle_since.lock() } else { Instant::now() };
            let left = limit.saturating_sub(since.elapsed());
            if left.is_zero() {
                return;
            }
            // The first request may come while `first` is awaited.
            tokio::time::sleep(left.min(next)).await;
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 0
    }
}

/// A request whose response is not complete.
#[derive(Debug)]
pub(super) struct RunningRequest {
    slot: Arc<ConnectionSlot>,
    _load: LoadingRequest,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        *self.slot.idle_since.lock() = Instant::now();
        self.slot.running.fetch_sub(1, Ordering::Relaxed);
        self.slot.ended.notify_one();
    }
}

/// The body of a response. The connection is busy until it is sent.
pub(super) struct RunningBody<B> {
    pub(super) body: B,
    pub(super) _running: RunningRequest,
}

impl<B: Body<Data = Bytes> + Unpin> Body for RunningBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The connections of a listener, which one task accepts.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    limit: usize,
    open: Vec<Arc<ConnectionSlot>>,
    ended: Arc<Notify>,
}

impl ConnectionSlots {
    pub(super) fn new(limit: usize) -> Self {
        ConnectionSlots { limit, open: Vec::new(), ended: Arc::default() }
    }

    /// Whether another connection can be accepted: there are fewer than the limit, or one is idle.
    pub(super) fn has_room(&mut self) -> bool {
        if self.open.len() >= self.limit {
            // If no other owner is left, the connection has ended.
            self.open.retain(|slot| Arc::strong_count(slot) > 1);
        }
        self.open.len() < self.limit || self.open.iter().any(|slot| slot.is_idle())
    }

    /// Completes when a request has ended, and its connection may be idle.
    pub(super) async fn request_ended(&self) {
        self.ended.notified().await;
    }

    /// Adds a connection with what it means for its thread. If there are too many, the one that has been idle the longest is told to close and no longer
    /// counts.
    pub(super) fn add(&mut self, load: LoadingConnection) -> Arc<ConnectionSlot> {
        if self.open.len() >= self.limit {
            let idle = self.open.iter().enumerate().filter(|(_, slot)| slot.is_idle());
            if let Some((place, _)) = idle.min_by_key(|(_, slot)| *slot.idle_since.lock()) {
                self.open.swap_remove(place).close.cancel();
            }
        }
        let slot = Arc::new(ConnectionSlot {
            running: AtomicUsize::new(0),
            was_used: AtomicBool::new(false),
            idle_since: Mutex::new(Instant::now()),
            load,
            close: CancellationToken::new(),
            ended: Arc::clone(&self.ended),
        });
        self.open.push(Arc::clone(&slot));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_fiber::ServingThreads;

    #[tokio::test]
    async fn the_connection_that_was_idle_for_longest_makes_room_and_a_busy_one_never() {
        let mut slots = ConnectionSlots::new(3);
        let threads = ServingThreads::default();
        let add = |slots: &mut ConnectionSlots| slots.add(threads.least_loaded().1);
        let [busy, idle, used] = [add(&mut slots), add(&mut slots), add(&mut slots)];
        let running = busy.begin();
        drop(used.begin());
        assert!(slots.has_room());
        let another = add(&mut slots);
        assert_eq!([&busy, &idle, &used].map(|slot| slot.close.is_cancelled()), [false, true, false]);
        let others = [used.begin(), another.begin()];
        assert!(!slots.has_room(), "all are busy");
        drop((running, busy));
        assert!(slots.has_room(), "one has ended");
        add(&mut slots);
        assert!(![&used, &another].iter().any(|slot| slot.close.is_cancelled()));
        drop(others);
    }
}
