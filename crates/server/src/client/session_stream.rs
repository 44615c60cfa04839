//! One event stream of a session, with a replay buffer: a client that lost its connection resumes the stream with
//! `Last-Event-ID`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc};

use super::event_id::EventId;
use super::replay_budget::ReplayBudget;
use proxy_wire::http::Frames;
use proxy_wire::outbound::{NoRoom, OutboundMessage, Outlet};
use proxy_wire::{Sender, sse, trace_client};

/// The maximum size of a stream's replay buffer, in events and in bytes.
const MAX_REPLAY_EVENTS: usize = 1024;
const MAX_REPLAY_BYTES: usize = 4 << 20;
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
    buffer: VecDeque<(u64, Bytes)>,
    bytes: usize,
    reader: Option<Reader>,
    /// The number of messages that wait for room.
    waiting: usize,
    finished_at: Option<Instant>,
}

/// The connection on which the client reads the stream.
#[derive(Clone, Debug)]
struct Reader {
    frames: mpsc::Sender<OutboundMessage>,
    outlet: Outlet,
}

impl Reader {
    /// Sends a frame, and waits while there is no room. Returns false if the client is gone or reads nothing.
    async fn send(&self, frame: Bytes) -> bool {
        let Ok(reservation) = self.outlet.reserve(frame.len()).await else { return false };
        self.frames.send(OutboundMessage::new(frame, reservation)).await.is_ok()
    }

    /// Sends a frame without waiting.
    fn try_send(&self, frame: Bytes) -> Result<(), mpsc::error::TrySendError<()>> {
        let reservation = self.outlet.try_reserve(frame.len()).ok_or(mpsc::error::TrySendError::Full(()))?;
        let sent = self.frames.try_send(OutboundMessage::new(frame, reservation));
        sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => mpsc::error::TrySendError::Full(()),
            mpsc::error::TrySendError::Closed(_) => mpsc::error::TrySendError::Closed(()),
        })
    }
}

/// An event stream of a session.
#[derive(Debug)]
pub(crate) struct SessionStream {
    number: u64,
    state: Arc<Mutex<StreamState>>,
    /// Held by the message that waits for room, so that no later one overtakes it.
    turn: tokio::sync::Mutex<()>,
    /// Notified when a reader attaches.
    replaced: Notify,
    /// Notified when there is something to read and nobody to read it.
    wanted: Notify,
}

impl SessionStream {
    pub(crate) fn new(number: u64, budget: &Arc<ReplayBudget>) -> Self {
        Self::after(number, 0, budget)
    }

    /// A stream whose first event is the one after `last_number`.
    pub(crate) fn after(number: u64, last_number: u64, budget: &Arc<ReplayBudget>) -> Self {
        let budget = Arc::clone(budget);
        let state = StreamState {
            budget,
            last_number,
            buffer: VecDeque::new(),
            bytes: 0,
            reader: None,
            waiting: 0,
            finished_at: None,
        };
        SessionStream {
            number,
            state: Arc::new(Mutex::new(state)),
            turn: tokio::sync::Mutex::default(),
            replaced: Notify::new(),
            wanted: Notify::new(),
        }
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

    /// Attaches a reader, which receives the buffered events after event `last_seen` and then new events. An earlier
    /// reader's connection ends, because MCP forbids sending a message on two streams. If there is no room for all buffered
    /// events, the reader's stream ends after those that there is room for, and the client resumes it from there.
    pub(crate) fn attach(&self, last_seen: u64, priming: bool, outlet: &Outlet) -> Frames {
        let mut state = self.lock();
        let missed: Vec<Bytes> =
            state.buffer.iter().filter(|(number, _)| *number > last_seen).map(|(_, frame)| frame.clone()).collect();
        let (sender, frames) = mpsc::channel(missed.len() + QUEUE_CAPACITY);
        if priming {
            // Cannot fail: the queue is new and has capacity for the missed frames and more.
            let priming = sse::priming(&EventId::here(self.number, last_seen).to_string());
            let _ = sender.try_send(OutboundMessage::uncounted(priming));
        }
        let reader = Reader { frames: sender, outlet: outlet.clone() };
        let has_all = missed.into_iter().all(|frame| reader.try_send(frame).is_ok());
        state.reader = (has_all && state.finished_at.is_none()).then_some(reader);
        self.replaced.notify_waiters();
        frames
    }

    /// Sends a message, and waits while the reader's queue is full. Without a reader the message is only buffered.
    pub(crate) async fn push(&self, message: &str) {
        trace_client(Sender::Proxy, message.as_bytes());
        let (frame, reader) = {
            let mut state = self.lock();
            let (number, frame) = state.next_frame(self.number, message);
            state.buffer(number, frame.clone());
            let Some(reader) = state.reader.clone() else { return self.wanted.notify_one() };
            if state.waiting == 0 {
                match reader.try_send(frame.clone()) {
                    Ok(()) => return,
                    Err(mpsc::error::TrySendError::Closed(())) => return state.reader = None,
                    Err(mpsc::error::TrySendError::Full(())) => {}
                }
            }
            state.waiting += 1;
            (frame, reader)
        };
        let _waiting = WaitingPush(self);
        let _turn = self.turn.lock().await;
        if !self.lock().is_reader(&reader) {
            return;
        }
        tokio::select! {
            sent = reader.send(frame) => if !sent {
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
        trace_client(Sender::Proxy, message.as_bytes());
        let mut state = self.lock();
        if state.waiting > 0 {
            return false;
        }
        let (number, frame) = state.next_frame(self.number, message);
        match state.reader.as_ref().map(|reader| reader.try_send(frame.clone())) {
            Some(Err(mpsc::error::TrySendError::Full(()))) => {
                state.last_number -= 1;
                return false;
            }
            Some(Ok(()) | Err(mpsc::error::TrySendError::Closed(()))) => {}
            None => self.wanted.notify_one(),
        }
        state.buffer(number, frame);
        true
    }

    /// Completes when the reader has room for another event, or when it was detached because it reads nothing. Returns
    /// `None` if there is room now or no reader.
    pub(super) fn room(self: &Arc<Self>) -> Option<BoxFuture<'static, ()>> {
        let reader = self.lock().reader.clone()?;
        if (reader.outlet.has_room() && reader.frames.capacity() > 0) || reader.frames.is_closed() {
            return None;
        }
        let stream = Arc::clone(self);
        let waiting = async move {
            tokio::select! {
                () = reader.frames.closed() => {}
                () = stream.replaced.notified() => {}
                room = reader.outlet.room() => match room {
                    Ok(()) => drop(reader.frames.reserve().await),
                    Err(NoRoom) => stream.detach(&reader),
                },
            }
        };
        Some(waiting.boxed())
    }

    fn detach(&self, gone: &Reader) {
        let mut state = self.lock();
        if state.is_reader(gone) {
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
        self.lock().reader.as_ref().is_some_and(|reader| !reader.frames.is_closed())
    }

    /// Ends the connection of the reader, if there is one. The stream goes on.
    pub(crate) fn end_reader(&self) {
        self.lock().reader = None;
        self.replaced.notify_waiters();
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

/// A message that waits for room.
struct WaitingPush<'a>(&'a SessionStream);

impl Drop for WaitingPush<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

impl StreamState {
    fn is_reader(&self, reader: &Reader) -> bool {
        self.reader.as_ref().is_some_and(|current| current.frames.same_channel(&reader.frames))
    }

    /// The next event of the stream with this number.
    fn next_frame(&mut self, stream: u64, message: &str) -> (u64, Bytes) {
        self.last_number += 1;
        let number = self.last_number;
        (number, sse::event(Some(&EventId::here(stream, number).to_string()), message.as_bytes()).into())
    }

    fn buffer(&mut self, number: u64, frame: Bytes) {
        self.bytes += frame.len();
        self.budget.add(frame.len());
        self.buffer.push_back((number, frame));
        // While all streams together keep too much, each keeps its last event only.
        while self.buffer.len() > MAX_REPLAY_EVENTS
            || ((self.bytes > MAX_REPLAY_BYTES || self.budget.is_exceeded()) && self.buffer.len() > 1)
        {
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
    use proxy_model::Owner;
    use proxy_wire::outbound::{OutboundBudget, OutboundLimits};

    fn outlet() -> Outlet {
        OutboundBudget::default().connection().outlet(Owner::Everybody)
    }

    async fn next(frames: &mut Frames) -> Option<String> {
        let frame = frames.recv().await?;
        Some(String::from_utf8_lossy(frame.as_ref()).into_owned())
    }

    /// An event of stream 3.
    fn event(number: u64, message: u64) -> Option<String> {
        Some(format!("id: {}\ndata: {{\"a\":{message}}}\n\n", EventId::here(3, number)))
    }

    #[tokio::test]
    async fn a_reader_that_comes_back_gets_what_it_missed_and_only_that() {
        let stream = SessionStream::new(3, &Arc::default());
        let mut first = stream.attach(0, true, &outlet());
        let priming = format!("id: {}\nretry: 1000\ndata:\n\n", EventId::here(3, 0));
        assert_eq!(next(&mut first).await, Some(priming));
        stream.push("{\"a\":1}").await;
        assert_eq!(next(&mut first).await, event(1, 1));
        drop(first);
        stream.push("{\"a\":2}").await;
        stream.push("{\"a\":3}").await;
        stream.finish();
        let mut second = stream.attach(1, false, &outlet());
        assert_eq!(next(&mut second).await, event(2, 2));
        assert_eq!(next(&mut second).await, event(3, 3));
        assert_eq!(next(&mut second).await, None);
    }

    /// The events that a client receives when it resumes a finished stream.
    async fn replayed(stream: &SessionStream) -> Vec<String> {
        let mut frames = stream.attach(0, false, &outlet());
        let mut all = Vec::new();
        while let Some(frame) = next(&mut frames).await {
            all.push(frame);
        }
        all
    }

    #[tokio::test]
    async fn a_message_that_waits_for_room_is_not_overtaken() {
        let limits = OutboundLimits { connection: 100, ..OutboundLimits::default() };
        let outlet = OutboundBudget::new(limits).connection().outlet(Owner::Everybody);
        let stream = Arc::new(SessionStream::new(3, &Arc::default()));
        let mut frames = stream.attach(0, false, &outlet);
        stream.push(&"x".repeat(100)).await;
        let pushing = tokio::spawn({
            let stream = Arc::clone(&stream);
            async move { stream.push("{\"a\":2}").await }
        });
        tokio::task::yield_now().await;
        assert!(!stream.try_push("{\"a\":0}"), "there is no room, and somebody waits for it");
        let room = stream.room().expect("there is none");
        assert!(next(&mut frames).await.is_some());
        room.await;
        pushing.await.unwrap();
        assert!(stream.try_push("{\"a\":3}"));
        assert_eq!(next(&mut frames).await, event(2, 2));
        assert_eq!(next(&mut frames).await, event(3, 3));
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
