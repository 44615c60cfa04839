//! A session of an HTTP client.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::server::client::client::Client;
use crate::server::client::in_flight::InFlight;
use crate::server::client::replay::Replay;
use crate::server::client::sink::MessageSink;
use crate::server::client::stream::Stream;
use crate::wire::http::Frames;
use crate::wire::{Response, Revision, encode};

/// Finished streams that can still be taken up again.
const KEPT_STREAMS: usize = 32;

/// For how long they can.
const KEPT_FOR: Duration = Duration::from_secs(120);
/// And how much of them.
const KEPT_BYTES: usize = 8 << 20;

/// One session of an HTTP client.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) in_flight: InFlight,
    /// What the streams of all sessions keep.
    replay: Arc<Replay>,
    streams: Mutex<BTreeMap<u64, Arc<Stream>>>,
    next_stream: AtomicU64,
    /// The stream on which the proxy speaks unasked.
    standalone: Arc<Stream>,
    /// A change nobody was there to hear of.
    untold: Mutex<Vec<&'static str>>,
    used: Mutex<Instant>,
}

impl Session {
    pub(crate) fn new(client: Client, replay: &Arc<Replay>) -> Self {
        let standalone = Arc::new(Stream::new(0, replay));
        Session {
            client: Arc::new(client.with_sink(MessageSink::Stream(Arc::clone(&standalone)))),
            in_flight: InFlight::default(),
            replay: Arc::clone(replay),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            standalone,
            untold: Mutex::default(),
            used: Mutex::new(Instant::now()),
        }
    }

    /// Takes the answer to something the client was asked.
    pub(crate) fn take_answer(&self, response: Response) {
        if let Some(questions) = &self.client.questions {
            questions.take(response);
        }
    }

    pub(crate) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    /// Whether nobody has used it for so long. An open stream or a running call is use.
    pub(crate) fn is_idle(&self, limit: Duration) -> bool {
        let used = *self.used.lock();
        self.in_flight.is_empty() && !self.standalone.has_reader() && used.elapsed() >= limit
    }

    /// A stream for one request, and its first reader.
    pub(crate) fn open(&self) -> (Arc<Stream>, Frames) {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Stream::new(number, &self.replay));
        let frames = stream.attach(0, self.primes());
        let mut streams = self.streams.lock();
        forget_old(&mut streams);
        streams.insert(number, Arc::clone(&stream));
        (stream, frames)
    }

    /// Only the newest session-based revision knows the empty first event; older clients parse every event as a message.
    fn primes(&self) -> bool {
        self.client.revision >= Revision::V2025_11_25
    }

    /// Takes a stream up again behind an event; none if there is no such stream any more.
    pub(crate) async fn resume(&self, last_event: &str) -> Option<Frames> {
        let (number, seen) = Stream::parse_id(last_event)?;
        if number == 0 {
            return Some(self.listen_behind(seen).await);
        }
        let streams = self.streams.lock();
        Some(streams.get(&number)?.attach(seen, false))
    }

    /// Opens the standalone stream. A change that nobody heard of is told now.
    pub(crate) async fn listen(&self) -> Frames {
        self.listen_behind(u64::MAX).await
    }

    async fn listen_behind(&self, seen: u64) -> Frames {
        let frames = self.standalone.attach(seen, false);
        let untold = std::mem::take(&mut *self.untold.lock());
        for change in untold {
            self.tell(change).await;
        }
        frames
    }

    /// Sends a notification of a change, or remembers it, once, until somebody listens.
    pub(crate) async fn tell(&self, change: &'static str) {
        if self.standalone.has_reader() {
            self.standalone.push(&encode::notification(change, None)).await;
            return;
        }
        let mut untold = self.untold.lock();
        if !untold.contains(&change) {
            untold.push(change);
        }
    }

    /// Lets go of what no client will come back for.
    pub(crate) fn forget_delivered(&self) {
        let mut streams = self.streams.lock();
        streams.retain(|_, stream| stream.finished_for().is_none_or(|age| age < KEPT_FOR));
    }

    /// Ends the stream that would last for ever.
    pub(crate) fn end_listening(&self) {
        self.standalone.finish();
    }

    /// Ends everything that runs in it.
    pub(crate) fn end(&self) {
        self.in_flight.cancel_all();
        self.client.end();
        self.standalone.finish();
        for stream in self.streams.lock().values() {
            stream.finish();
        }
    }
}

/// Lets go of finished streams, oldest first, beyond what is kept for clients that come back.
fn forget_old(streams: &mut BTreeMap<u64, Arc<Stream>>) {
    let finished: Vec<(u64, usize)> = streams
        .iter()
        .filter(|(_, stream)| stream.is_finished())
        .map(|(number, stream)| (*number, stream.kept_bytes()))
        .collect();
    let (mut count, mut bytes) = (finished.len(), finished.iter().map(|(_, bytes)| bytes).sum::<usize>());
    for (number, size) in finished {
        if count < KEPT_STREAMS && bytes <= KEPT_BYTES {
            return;
        }
        streams.remove(&number);
        (count, bytes) = (count - 1, bytes - size);
    }
}
