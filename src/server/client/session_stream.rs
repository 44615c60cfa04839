//! One event stream of a session, with a replay buffer: a client that lost its connection resumes the stream with
//! `Last-Event-ID`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc};

use super::replay_budget::ReplayBudget;
use crate::wire::http::Frames;
use crate::wire::sse;

/// The maximum size of a stream's replay buffer, in events and in bytes.
const MAX_REPLAY_EVENTS: usize = 1024;
const MAX_REPLAY_BYTES: usize = 4 << 20;
/// The SSE `retry` value: how long a client waits before it reconnects.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// A reader that reads nothing for this long is detached from the stream. It can resume the stream later.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of frames that are queued for a slow reader.
const QUEUE_CAPACITY: usize = 1024;

/// The replay buffer and the reader of a stream.
#[derive(Debug)]
pub(super) struct StreamState {
    /// Counts the bytes in the replay buffers of all streams.
    budget: Arc<ReplayBudget>,
    last_number: u64,
    buffer: VecDeque<(u64, String)>,
    bytes: usize,
    reader: Option<mpsc::Sender<String>>,
    finished_at: Option<Instant>,
}

/// An event stream of a session. The event ids are `{stream number}-{event number}`.
#[derive(Debug)]
pub(crate) struct SessionStream {
    number: u64,
    state: Arc<Mutex<StreamState>>,
    /// Notified when a reader attaches.
    replaced: Notify,
    /// Notified when there is something to read and nobody to read it.
    wanted: Notify,
}

impl SessionStream {
    pub(crate) fn new(number: u64, budget: &Arc<ReplayBudget>) -> Self {
        let budget = Arc::clone(budget);
        let state =
            StreamState { budget, last_number: 0, buffer: VecDeque::new(), bytes: 0, reader: None, finished_at: None };
        SessionStream { number, state: Arc::new(Mutex::new(state)), replaced: Notify::new(), wanted: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock()
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether nothing has been sent.
    pub(crate) fn is_silent(&self) -> bool {
        self.lock().last_number == 0
    }

    /// Waits until a reader is needed.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Splits an event id into the numbers of the stream and the event.
    pub(crate) fn parse_id(id: &str) -> Option<(u64, u64)> {
        let (stream, event) = id.split_once('-')?;
        Some((stream.parse().ok()?, event.parse().ok()?))
    }

    /// Attaches a reader, which receives the buffered events after event `last_seen` and then new events. An earlier
    /// reader's connection ends, because MCP forbids sending a message on two streams.
    pub(crate) fn attach(&self, last_seen: u64, priming: bool) -> Frames {
        let mut state = self.lock();
        let missed: Vec<String> =
            state.buffer.iter().filter(|(number, _)| *number > last_seen).map(|(_, frame)| frame.clone()).collect();
        let (sender, frames) = mpsc::channel(missed.len() + QUEUE_CAPACITY);
        if priming {
            // Cannot fail: the queue is new and has capacity for the missed frames and more.
            let _ = sender.try_send(sse::priming(&format!("{}-{last_seen}", self.number), RETRY_DELAY));
        }
        for frame in missed {
            let _ = sender.try_send(frame);
        }
        if state.finished_at.is_none() {
            state.reader = Some(sender);
        }
        self.replaced.notify_waiters();
        frames
    }

    /// Sends a message, and waits while the reader's queue is full. Without a reader the message is only buffered.
    pub(crate) async fn push(&self, message: &str) {
        let (frame, reader) = {
            let mut state = self.lock();
            state.last_number += 1;
            let number = state.last_number;
            let frame = sse::event(Some(&format!("{}-{number}", self.number)), message);
            state.buffer(number, frame.clone());
            (frame, state.reader.clone())
        };
        let Some(reader) = reader else { return self.wanted.notify_one() };
        tokio::select! {
            sent = reader.send(frame) => if sent.is_err() {
                self.detach(&reader);
            },
            // The client has resumed the stream on another connection and receives the frame there.
            () = self.replaced.notified() => {}
            // The client neither reads nor closes the connection. The frame is buffered, so the call can continue.
            () = tokio::time::sleep(STALL_TIMEOUT) => self.detach(&reader),
        }
    }

    /// Sends a message without waiting. Returns false if the reader's queue is full and the message was dropped.
    /// Without a reader the message is only buffered.
    pub(super) fn try_push(&self, message: &str) -> bool {
        let mut state = self.lock();
        let number = state.last_number + 1;
        let frame = sse::event(Some(&format!("{}-{number}", self.number)), message);
        match state.reader.as_ref().map(|reader| reader.try_send(frame.clone())) {
            Some(Err(mpsc::error::TrySendError::Full(_))) => return false,
            Some(Ok(()) | Err(mpsc::error::TrySendError::Closed(_))) => {}
            None => self.wanted.notify_one(),
        }
        state.last_number = number;
        state.buffer(number, frame);
        true
    }

    fn detach(&self, gone: &mpsc::Sender<String>) {
        let mut state = self.lock();
        if state.reader.as_ref().is_some_and(|reader| reader.same_channel(gone)) {
            state.reader = None;
        }
    }

    /// Waits until the stream has a reader.
    pub(super) async fn wait_for_reader(&self) {
        loop {
            let attached = self.replaced.notified();
            let mut attached = std::pin::pin!(attached);
            // Registers before the check, so that a reader that attaches in between is not missed.
            attached.as_mut().enable();
            if self.has_reader() {
                return;
            }
            self.wanted.notify_one();
            attached.await;
        }
    }

    /// Whether a reader is connected.
    pub(crate) fn has_reader(&self) -> bool {
        self.lock().reader.as_ref().is_some_and(|reader| !reader.is_closed())
    }

    /// Ends the stream. Buffered events can still be replayed.
    pub(crate) fn finish(&self) {
        let budget = {
            let mut state = self.lock();
            state.reader = None;
            match state.finished_at.replace(Instant::now()) {
                None => Arc::clone(&state.budget),
                earlier => {
                    state.finished_at = earlier;
                    return;
                }
            }
        };
        budget.finished(&self.state);
    }

    /// The size of the replay buffer.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.lock().bytes
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.lock().finished_at.is_some()
    }

    /// The time since the stream finished; `None` if it has not finished.
    pub(crate) fn finished_for(&self) -> Option<Duration> {
        self.lock().finished_at.map(|when| when.elapsed())
    }
}

impl StreamState {
    fn buffer(&mut self, number: u64, frame: String) {
        self.bytes += frame.len();
        self.budget.add(frame.len());
        self.buffer.push_back((number, frame));
        while self.buffer.len() > MAX_REPLAY_EVENTS || (self.bytes > MAX_REPLAY_BYTES && self.buffer.len() > 1) {
            if let Some((_, old)) = self.buffer.pop_front() {
                self.bytes -= old.len();
                self.budget.subtract(old.len());
            }
        }
    }

    /// Clears the replay buffer.
    pub(super) fn clear_buffer(&mut self) {
        self.buffer.clear();
        self.budget.subtract(std::mem::take(&mut self.bytes));
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        self.clear_buffer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_comes_back_gets_what_it_missed_and_only_that() {
        let stream = SessionStream::new(3, &Arc::default());
        let mut first = stream.attach(0, true);
        assert_eq!(first.recv().await.as_deref(), Some("id: 3-0\nretry: 1000\ndata:\n\n"));
        stream.push("{\"a\":1}").await;
        assert_eq!(first.recv().await.as_deref(), Some("id: 3-1\ndata: {\"a\":1}\n\n"));
        drop(first);
        stream.push("{\"a\":2}").await;
        stream.push("{\"a\":3}").await;
        stream.finish();
        let mut second = stream.attach(1, false);
        assert_eq!(second.recv().await.as_deref(), Some("id: 3-2\ndata: {\"a\":2}\n\n"));
        assert_eq!(second.recv().await.as_deref(), Some("id: 3-3\ndata: {\"a\":3}\n\n"));
        assert_eq!(second.recv().await, None);
    }

    /// The events that a client receives when it resumes a finished stream.
    async fn replayed(stream: &SessionStream) -> Vec<String> {
        let mut frames = stream.attach(0, false);
        let mut all = Vec::new();
        while let Some(frame) = frames.recv().await {
            all.push(frame);
        }
        all
    }

    #[tokio::test]
    async fn beyond_what_all_streams_may_keep_the_first_finished_is_forgotten_first() {
        let budget = Arc::new(ReplayBudget::with_limit(250));
        let streams: Vec<SessionStream> = (1..=3).map(|number| SessionStream::new(number, &budget)).collect();
        for stream in &streams {
            stream.push(&"x".repeat(80)).await;
        }
        // The buffer of a running stream is not cleared.
        for stream in streams[1..].iter().rev() {
            stream.finish();
        }
        assert_eq!(replayed(&streams[2]).await.len(), 0, "the first that was finished");
        assert_eq!(replayed(&streams[1]).await.len(), 1);
        streams[0].finish();
        assert_eq!(replayed(&streams[0]).await.len(), 1);
        drop(streams);
        let next = SessionStream::new(4, &budget);
        next.push(&"x".repeat(200)).await;
        next.finish();
        assert_eq!(replayed(&next).await.len(), 1, "what is gone counts no more");
    }
}
