//! One request with what the transport knows about it.

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::message::{Envelope, VERSION_KEY, members};
use crate::outbox::Outbox;

pub struct Request {
    /// The raw token of the id.
    pub id: String,
    pub method: String,
    pub params: Option<Box<RawValue>>,
    /// Header names in lower case; empty on stdio.
    pub headers: Vec<(String, String)>,
    pub http: bool,
    /// The legacy session over HTTP.
    pub session: Option<String>,
    pub modern: bool,
    pub outbox: Outbox,
    pub cancelled: CancellationToken,
}

impl Request {
    pub fn new(envelope: Envelope, outbox: Outbox) -> Option<Self> {
        let id = envelope.id?.get().to_owned();
        let method = envelope.method?;
        let cancelled = CancellationToken::new();
        Some(Self {
            id,
            method,
            params: envelope.params,
            headers: Vec::new(),
            http: false,
            session: None,
            modern: false,
            outbox,
            cancelled,
        })
    }

    pub fn params_text(&self) -> &str {
        self.params.as_ref().map_or("{}", |params| params.get())
    }

    pub fn parameter(&self, name: &str) -> Option<Box<RawValue>> {
        members(self.params.as_deref()).remove(name)
    }

    pub fn text_parameter(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.parameter(name)?.get()).ok()
    }

    pub fn meta(&self, key: &str) -> Option<Box<RawValue>> {
        members(self.parameter("_meta").as_deref()).remove(key)
    }

    /// The version this request names in `_meta`, which makes it a modern one.
    pub fn named_version(&self) -> Option<String> {
        serde_json::from_str(self.meta(VERSION_KEY)?.get()).ok()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn header_count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(known, _)| known == name).count()
    }
}
