//! The session of an HTTP client: its running requests and its event streams.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::client::event_id::{EventId, STANDALONE};
use crate::client::in_flight::InFlight;
use crate::client::log_level::ClientLogLevel;
use crate::client::replay_budget::ReplayBudget;
use crate::client::session_id::SessionId;
use crate::client::session_stream::SessionStream;
use crate::client::sink::MessageSink;
use crate::client::state::{Client, ClientSession};
use proxy_model::{Home, Owner, Principal, SessionDigest};
use proxy_wire::http::Frames;
use proxy_wire::outbound::Outlet;
use proxy_wire::{LoggingLevel, Response, Revision, encode};

/// The maximum number of finished streams of a session that can still be resumed.
const MAX_FINISHED_STREAMS: usize = 32;
/// How long a finished stream can be resumed.
const REPLAY_LIFETIME: Duration = Duration::from_secs(120);
/// The maximum size of the replay buffers of a session's finished streams.
const MAX_REPLAY_BYTES: usize = 8 << 20;

/// One session of an HTTP client.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) id: SessionId,
    client: Mutex<Arc<Client>>,
    pub(crate) in_flight: InFlight,
    /// Limits the replay buffers of all sessions together.
    replay_budget: Arc<ReplayBudget>,
    streams: Mutex<BTreeMap<u64, Arc<SessionStream>>>,
    next_stream: AtomicU64,
    /// The stream for messages that do not belong to a request of the client (HTTP GET).
    standalone: Arc<SessionStream>,
    /// Whether the lists may have changed while no process served the session, and the client was not told yet.
    missed_lists: AtomicBool,
    /// Set once it is known that the session has not ended elsewhere.
    confirmed: OnceCell<()>,
    /// The `list_changed` notifications that wait until the client opens the standalone stream.
    unsent: Mutex<Vec<&'static str>>,
    last_used: Mutex<Instant>,
}

impl Session {
    pub(crate) fn new(id: SessionId, client: Client, replay_budget: &Arc<ReplayBudget>) -> Self {
        let session = Self::numbered_after(0, id, client, replay_budget);
        Session { confirmed: OnceCell::new_with(Some(())), ..session }
    }

    /// A session that was opened before, here or elsewhere.
    pub(crate) fn revived(id: SessionId, client: Client, replay_budget: &Arc<ReplayBudget>) -> Self {
        // This process may have served the session before. Time has no number twice: nobody opens a million streams a second.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let microseconds = u64::try_from(since.as_micros()).unwrap_or_default();
        let session = Self::numbered_after(microseconds, id, client, replay_budget);
        session.missed_lists.store(true, Ordering::Relaxed);
        session
    }

    /// Waits until it is known that the session has not ended elsewhere. Of several requests, one asks for all. After an error
    /// the next one asks again.
    pub(super) async fn confirm<E, F: Future<Output = Result<(), E>>>(&self, ask: impl FnOnce() -> F) -> Result<(), E> {
        if self.confirmed.initialized() {
            return Ok(());
        }
        self.confirmed.get_or_try_init(ask).await.map(|_| ())
    }

    /// A session whose streams, and the events of its standalone stream, have the numbers above `last_number`.
    fn numbered_after(last_number: u64, id: SessionId, client: Client, replay_budget: &Arc<ReplayBudget>) -> Self {
        let standalone = Arc::new(SessionStream::after(STANDALONE, last_number, replay_budget));
        let client = Client { owner: Owner::Session(id.sid), ..client.with_id(&id) };
        Session {
            id,
            client: Mutex::new(Arc::new(client.with_sink(MessageSink::SessionStream(Arc::clone(&standalone))))),
            in_flight: InFlight::default(),
            replay_budget: Arc::clone(replay_budget),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(last_number + 1),
            standalone,
            missed_lists: AtomicBool::new(false),
            confirmed: OnceCell::new(),
            unsent: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
        }
    }

    /// What others may know of its id.
    pub(crate) fn digest(&self) -> SessionDigest {
        self.id.sid.digest()
    }

    pub(crate) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client.lock())
    }

    /// The client with what the token of this request says: another request of the session may have shown another one just now.
    pub(super) fn client_of(&self, principal: &Principal) -> Arc<Client> {
        let client = self.client();
        if client.principal == *principal { client } else { Arc::new(client.with_principal(principal)) }
    }

    /// Lets later requests come from the same user with other groups, claims or scopes, as a renewed token may have.
    /// Returns the client before and after, if that is a change.
    pub(super) fn follow(&self, principal: &Principal) -> Option<(Arc<Client>, Arc<Client>)> {
        let mut client = self.client.lock();
        if client.principal == *principal {
            return None;
        }
        let now = Arc::new(client.with_principal(principal));
        let before = std::mem::replace(&mut *client, Arc::clone(&now));
        Some((before, now))
    }

    /// Sets the log level that the client has set in another process.
    pub(super) fn set_level(&self, level: LoggingLevel) {
        if let ClientLogLevel::Session(session) = &self.client().level {
            session.set(level);
        }
    }

    /// Handles the response to a request of the proxy.
    pub(super) fn take_response(&self, response: Response) {
        if let Some(ClientSession { questions, .. }) = self.client().session() {
            questions.take(response);
        }
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    pub(super) fn last_used(&self) -> Instant {
        *self.last_used.lock()
    }

    /// Whether the session has not been used for `limit`. An open stream or a running call counts as use.
    pub(super) fn is_idle(&self, limit: Duration) -> bool {
        self.last_used().elapsed() >= limit && self.in_flight.is_empty() && !self.standalone.has_reader()
    }

    /// A stream for the response to one request. Until it is opened it keeps what is sent.
    pub(crate) fn new_stream(&self) -> Arc<SessionStream> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        Arc::new(SessionStream::new(number, &self.replay_budget))
    }

    /// Opens a stream: attaches a reader, and lets the client resume it from now on.
    pub(crate) fn open(&self, stream: &Arc<SessionStream>, outlet: &Outlet) -> Frames {
        let frames = stream.attach(0, self.primes(), outlet);
        let mut streams = self.streams.lock();
        remove_oldest_finished(&mut streams);
        streams.insert(stream.number(), Arc::clone(stream));
        frames
    }

    /// Whether streams begin with an empty priming event. Clients before 2025-11-25 parse every event as a message.
    fn primes(&self) -> bool {
        self.client.lock().revision >= Revision::V2025_11_25
    }

    /// Resumes a stream after an event. Returns `None` if the stream no longer exists.
    pub(crate) async fn resume(&self, last_event: &str, outlet: &Outlet) -> Option<Frames> {
        let event = EventId::parse(last_event)?;
        let is_ours = event.home == Home::of_this_process();
        if event.stream == STANDALONE {
            if is_ours {
                return Some(self.listen_after(event.number, outlet).await);
            }
            // What another process has sent since then is unknown here.
            self.missed_lists.store(true, Ordering::Relaxed);
            return Some(self.listen(outlet).await);
        }
        if !is_ours {
            return None;
        }
        let streams = self.streams.lock();
        Some(streams.get(&event.stream)?.attach(event.number, false, outlet))
    }

    /// Whether the client has to be told that its lists may have changed. True once.
    pub(super) fn take_missed_lists(&self) -> bool {
        self.missed_lists.swap(false, Ordering::Relaxed)
    }

    /// Opens the standalone stream, and sends the notifications that waited for it.
    pub(crate) async fn listen(&self, outlet: &Outlet) -> Frames {
        self.listen_after(u64::MAX, outlet).await
    }

    async fn listen_after(&self, last_seen: u64, outlet: &Outlet) -> Frames {
        let frames = self.standalone.attach(last_seen, false, outlet);
        let unsent = std::mem::take(&mut *self.unsent.lock());
        for method in unsent {
            self.notify(method).await;
        }
        frames
    }

    /// Sends a notification without params on the standalone stream. Without a reader, the notification is sent when
    /// the client opens the stream, without duplicates.
    pub(crate) async fn notify(&self, method: &'static str) {
        if self.standalone.has_reader() {
            self.standalone.push(&encode::notification(method, None)).await;
            return;
        }
        let mut unsent = self.unsent.lock();
        if !unsent.contains(&method) {
            unsent.push(method);
        }
    }

    /// Whether the client listens here.
    pub(super) fn is_listening(&self) -> bool {
        self.standalone.has_reader()
    }

    /// The client listens elsewhere.
    pub(super) fn stop_listening(&self) {
        self.standalone.end_reader();
    }

    /// Removes the finished streams that can no longer be resumed.
    pub(super) fn remove_expired_streams(&self) {
        let mut streams = self.streams.lock();
        streams.retain(|_, stream| stream.finished_for().is_none_or(|age| age < REPLAY_LIFETIME));
    }

    /// Ends the standalone stream, which has no end of its own.
    pub(super) fn end_listening(&self) {
        self.standalone.finish();
    }

    /// Ends what the session has in this process: cancels its requests and finishes its streams.
    pub(crate) fn close(&self) {
        self.in_flight.cancel_all();
        self.client().end();
        self.finish_streams();
    }

    /// The same for a session that goes on in another process, or later in this one: so do its sessions at servers.
    pub(crate) fn leave(&self) {
        self.in_flight.cancel_all();
        self.client().leave();
        self.finish_streams();
    }

    fn finish_streams(&self) {
        self.standalone.finish();
        for stream in self.streams.lock().values() {
            stream.finish();
        }
    }
}

/// Removes finished streams above the limits, oldest first.
fn remove_oldest_finished(streams: &mut BTreeMap<u64, Arc<SessionStream>>) {
    let finished: Vec<(u64, usize)> = streams
        .iter()
        .filter(|(_, stream)| stream.is_finished())
        .map(|(number, stream)| (*number, stream.buffered_bytes()))
        .collect();
    let (mut count, mut bytes) = (finished.len(), finished.iter().map(|(_, bytes)| bytes).sum::<usize>());
    for (number, size) in finished {
        if count < MAX_FINISHED_STREAMS && bytes <= MAX_REPLAY_BYTES {
            return;
        }
        streams.remove(&number);
        (count, bytes) = (count - 1, bytes - size);
    }
}
