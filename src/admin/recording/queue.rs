//! The queue of calls for a recording.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use proxy_model::{CallReader, CallRecord};

/// The maximum size of the queue for a slow reader, in bytes of params and results. A single larger call still fits.
const MAX_BYTES: usize = 32 << 20;
const MAX_CALLS: usize = 4096;

#[derive(Default)]
pub(super) struct RecordQueue {
    waiting: Mutex<WaitingCalls>,
    added: Notify,
}

#[derive(Default)]
struct WaitingCalls {
    calls: VecDeque<Arc<CallRecord>>,
    bytes: usize,
    dropped: u64,
}

/// What a recording gets next.
#[derive(Debug)]
pub(super) enum QueuedCall {
    Call(Arc<CallRecord>),
    /// This many calls were dropped because the reader was too slow.
    Dropped(u64),
}

impl CallReader for RecordQueue {
    fn read(&self, record: &Arc<CallRecord>) {
        if record.item.is_none() {
            return;
        }
        let mut waiting = self.waiting.lock();
        let size = size(record);
        if !waiting.calls.is_empty() && (waiting.calls.len() >= MAX_CALLS || waiting.bytes + size > MAX_BYTES) {
            waiting.dropped += 1;
            return;
        }
        waiting.bytes += size;
        waiting.calls.push_back(Arc::clone(record));
        drop(waiting);
        self.added.notify_one();
    }
}

impl RecordQueue {
    pub(super) async fn next(&self) -> QueuedCall {
        loop {
            if let Some(next) = self.take() {
                return next;
            }
            self.added.notified().await;
        }
    }

    /// The next entry. Dropped calls are reported when there is room again, after the calls that came before them.
    pub(super) fn take(&self) -> Option<QueuedCall> {
        let mut waiting = self.waiting.lock();
        if let Some(record) = waiting.calls.pop_front() {
            waiting.bytes -= size(&record);
            return Some(QueuedCall::Call(record));
        }
        let dropped = std::mem::take(&mut waiting.dropped);
        (dropped > 0).then_some(QueuedCall::Dropped(dropped))
    }
}

fn size(record: &CallRecord) -> usize {
    let texts = record.params.iter().chain(&record.result).map(|text| text.get().len()).sum::<usize>();
    let calls = record
        .server_calls
        .iter()
        .map(|call| 200 + call.params.get().len() + call.result.as_ref().map_or(0, |result| result.get().len()));
    1000 + texts + calls.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_json::raw;

    fn record(bytes: usize) -> Arc<CallRecord> {
        Arc::new(CallRecord { params: Some(raw(&"x".repeat(bytes))), ..CallRecord::example() })
    }

    #[tokio::test]
    async fn a_reader_that_is_slow_is_told_how_many_calls_it_missed() {
        let queue = RecordQueue::default();
        queue.read(&record(2 * MAX_BYTES));
        queue.read(&record(1));
        queue.read(&record(1));
        assert!(matches!(queue.next().await, QueuedCall::Call(_)), "the first one fits, however large it is");
        assert!(matches!(queue.next().await, QueuedCall::Dropped(2)));
        queue.read(&record(1));
        assert!(matches!(queue.next().await, QueuedCall::Call(_)));
        assert!(queue.take().is_none());
    }
}
