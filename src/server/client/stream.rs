//! One event stream of a session. What was sent is kept for a while, so that a client that lost its connection can take
//! the stream up again where it was.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

use super::replay::Replay;
use crate::wire::http::Frames;
use crate::wire::sse;

const KEPT_EVENTS: usize = 1024;
const KEPT_BYTES: usize = 4 << 20;
/// How soon a client that lost its connection may come back.
const RETRY: Duration = Duration::from_secs(1);
/// A reader that takes nothing for so long has lost its stream, until it comes back.
const STALL: Duration = Duration::from_secs(30);
/// Frames on their way to a client that does not read yet.
const QUEUE: usize = 1024;

#[derive(Debug)]
pub(crate) struct State {
    /// What all streams keep is counted here.
    replay: Arc<Replay>,
    last: u64,
    kept: VecDeque<(u64, String)>,
    bytes: usize,
    reader: Option<mpsc::Sender<String>>,
    done: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct Stream {
    number: u64,
    state: Arc<Mutex<State>>,
    replaced: Notify,
}

impl Stream {
    pub(crate) fn new(number: u64, replay: &Arc<Replay>) -> Self {
        let replay = Arc::clone(replay);
        let state = State { replay, last: 0, kept: VecDeque::new(), bytes: 0, reader: None, done: None };
        Stream { number, state: Arc::new(Mutex::new(state)), replaced: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The stream's number and the event's, from an event id.
    pub(crate) fn parse_id(id: &str) -> Option<(u64, u64)> {
        let (stream, event) = id.split_once('-')?;
        Some((stream.parse().ok()?, event.parse().ok()?))
    }

    /// Gives the stream a reader: what it has not seen yet, then what comes. An earlier reader's stream ends: a message
    /// goes to one stream only.
    pub(crate) fn attach(&self, seen: u64, priming: bool) -> Frames {
        let mut state = self.lock();
        let missed: Vec<String> =
            state.kept.iter().filter(|(number, _)| *number > seen).map(|(_, frame)| frame.clone()).collect();
        let (sender, frames) = mpsc::channel(missed.len() + QUEUE);
        if priming {
            // There is room: the queue is new and larger than what goes in here.
            let _ = sender.try_send(sse::priming(&format!("{}-{seen}", self.number), RETRY));
        }
        for frame in missed {
            let _ = sender.try_send(frame);
        }
        if state.done.is_none() {
            state.reader = Some(sender);
        }
        self.replaced.notify_waiters();
        frames
    }

    /// Sends a message, waiting while the reader does not read. Without a reader it is kept.
    pub(crate) async fn push(&self, message: &str) {
        let (frame, reader) = {
            let mut state = self.lock();
            state.last += 1;
            let number = state.last;
            let frame = sse::event(Some(&format!("{}-{number}", self.number)), message);
            state.keep(number, frame.clone());
            (frame, state.reader.clone())
        };
        let Some(reader) = reader else { return };
        tokio::select! {
            sent = reader.send(frame) => if sent.is_err() {
                self.detach(&reader);
            },
            // The client came back on another connection and was given this frame there.
            () = self.replaced.notified() => {}
            // It does not read and does not close either. The frame is kept; the call must go on.
            () = tokio::time::sleep(STALL) => self.detach(&reader),
        }
    }

    /// Sends a message that may be lost: whether it was not. Without a reader it is kept.
    pub(crate) fn try_push(&self, message: &str) -> bool {
        let mut state = self.lock();
        let number = state.last + 1;
        let frame = sse::event(Some(&format!("{}-{number}", self.number)), message);
        match state.reader.as_ref().map(|reader| reader.try_send(frame.clone())) {
            Some(Err(mpsc::error::TrySendError::Full(_))) => return false,
            Some(Ok(()) | Err(mpsc::error::TrySendError::Closed(_))) | None => {}
        }
        state.last = number;
        state.keep(number, frame);
        true
    }

    fn detach(&self, gone: &mpsc::Sender<String>) {
        let mut state = self.lock();
        if state.reader.as_ref().is_some_and(|reader| reader.same_channel(gone)) {
            state.reader = None;
        }
    }

    /// Ends when somebody reads.
    pub(crate) async fn reader(&self) {
        loop {
            let attached = self.replaced.notified();
            let mut attached = std::pin::pin!(attached);
            // From here on no new reader is overlooked.
            attached.as_mut().enable();
            if self.has_reader() {
                return;
            }
            attached.await;
        }
    }

    /// Whether somebody reads at this moment.
    pub(crate) fn has_reader(&self) -> bool {
        self.lock().reader.as_ref().is_some_and(|reader| !reader.is_closed())
    }

    /// No more will come.
    pub(crate) fn finish(&self) {
        let replay = {
            let mut state = self.lock();
            state.reader = None;
            match state.done.replace(Instant::now()) {
                None => Arc::clone(&state.replay),
                earlier => {
                    state.done = earlier;
                    return;
                }
            }
        };
        replay.finished(&self.state);
    }

    /// How much is kept for readers that come back.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.lock().bytes
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.lock().done.is_some()
    }

    /// How long ago it was finished, if it is.
    pub(crate) fn finished_for(&self) -> Option<Duration> {
        self.lock().done.map(|when| when.elapsed())
    }
}

impl State {
    fn keep(&mut self, number: u64, frame: String) {
        self.bytes += frame.len();
        self.replay.add(frame.len());
        self.kept.push_back((number, frame));
        while self.kept.len() > KEPT_EVENTS || (self.bytes > KEPT_BYTES && self.kept.len() > 1) {
            if let Some((_, old)) = self.kept.pop_front() {
                self.bytes -= old.len();
                self.replay.take_away(old.len());
            }
        }
    }

    /// Nobody will get what is kept.
    pub(crate) fn forget(&mut self) {
        self.kept.clear();
        self.replay.take_away(std::mem::take(&mut self.bytes));
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_comes_back_gets_what_it_missed_and_only_that() {
        let stream = Stream::new(3, &Arc::default());
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
    /// What a client that comes back to a finished stream gets.
    async fn again(stream: &Stream) -> Vec<String> {
        let mut frames = stream.attach(0, false);
        let mut all = Vec::new();
        while let Some(frame) = frames.recv().await {
            all.push(frame);
        }
        all
    }

    #[tokio::test]
    async fn beyond_what_all_streams_may_keep_the_first_finished_is_forgotten_first() {
        let replay = Arc::new(Replay::with_limit(250));
        let streams: Vec<Stream> = (1..=3).map(|number| Stream::new(number, &replay)).collect();
        for stream in &streams {
            stream.push(&"x".repeat(80)).await;
        }
        // One that still runs is not forgotten, whatever the others keep.
        for stream in streams[1..].iter().rev() {
            stream.finish();
        }
        assert_eq!(again(&streams[2]).await.len(), 0, "the first that was finished");
        assert_eq!(again(&streams[1]).await.len(), 1);
        streams[0].finish();
        assert_eq!(again(&streams[0]).await.len(), 1);
        drop(streams);
        let next = Stream::new(4, &replay);
        next.push(&"x".repeat(200)).await;
        next.finish();
        assert_eq!(again(&next).await.len(), 1, "what is gone counts no more");
    }
}
