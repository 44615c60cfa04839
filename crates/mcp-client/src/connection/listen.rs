//! Receives the notifications that a server sends outside of responses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::established::Connection;
use crate::transport::{Transport, TransportError};
use proxy_base::backoff::Backoff;
use proxy_json::RawRef;
use proxy_wire::code;

/// How long the first call waits for the standalone stream, on which the server may send requests.
const OPEN_STREAM_TIMEOUT: Duration = Duration::from_secs(2);
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest delay between two listen requests. A request that lasted longer resets the backoff.
const MAX_DELAY: Duration = Duration::from_secs(30);

impl Connection {
    /// Receives list changes for as long as the connection lives.
    pub(crate) async fn listen(self: Arc<Self>) {
        if !self.is_stateless() {
            return self.open_standalone_stream().await;
        }
        let Some(filter) = self.list_changed_filter() else { return };
        let body = proxy_json::raw(&json!({ "notifications": filter }));
        let mut backoff = Backoff::new(FIRST_DELAY, MAX_DELAY);
        loop {
            let started = Instant::now();
            match self.listen_with_id(self.next_id(), &body).await {
                Err(TransportError::Rpc(error)) if error.code() == code::METHOD_NOT_FOUND => return,
                outcome => tracing::debug!(server = %self.server, ?outcome, "subscriptions/listen ended"),
            }
            if started.elapsed() > MAX_DELAY {
                backoff.reset();
            }
            tokio::time::sleep(backoff.next_delay()).await;
            // Changes may have been missed in the meantime.
            self.signals().mark_all();
        }
    }

    /// Sends `subscriptions/listen` and completes when either side ends it.
    pub(crate) async fn listen_with_id(&self, id: u64, body: &RawRef) -> Result<(), TransportError> {
        let ended = self.signals().listen_ended(id);
        tokio::select! {
            outcome = self.request_with_id(id, "subscriptions/listen", body) => outcome.map(drop),
            Ok(()) = ended => Ok(()),
        }
    }

    /// Opens the standalone stream of a session, if the server has anything to send on it.
    pub(crate) async fn open_standalone_stream(&self) {
        if let Transport::Http(http) = &self.transport
            && (self.list_changed_filter().is_some() || self.supports_subscriptions() || self.declared().any())
            && tokio::time::timeout(OPEN_STREAM_TIMEOUT, http.listen()).await.is_err()
        {
            tracing::debug!(server = %self.server, "the standalone stream is slow to open");
        }
    }

    /// The list changes that the server can announce, as the filter of `subscriptions/listen`.
    fn list_changed_filter(&self) -> Option<Value> {
        let capabilities = &self.info().capabilities;
        let mut filter = serde_json::Map::new();
        for (capability, flag) in
            [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")]
        {
            if capabilities[capability]["listChanged"] == true {
                filter.insert(flag.to_owned(), true.into());
            }
        }
        (!filter.is_empty()).then(|| Value::Object(filter))
    }
}
