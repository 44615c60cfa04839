//! What was negotiated with a server over HTTP, and the headers that follow from it.

use http::{HeaderMap, HeaderValue};

use crate::transport::server_client::ServerClient;
use proxy_wire::{Revision, code, headers};

#[derive(Clone, Debug)]
pub(crate) struct Negotiated {
    pub(crate) revision: Option<Revision>,
    /// The value of the header `Mcp-Session-Id`.
    pub(crate) session: Option<HeaderValue>,
    pub(crate) headers: HeaderMap,
}

impl Negotiated {
    pub(crate) fn new(client: &ServerClient, revision: Option<Revision>, session: Option<HeaderValue>) -> Self {
        let mut headers = client.headers().clone();
        // Each request has a copy, to which it and the HTTP client add a few headers: with room for them, the copy need not
        // grow.
        headers.reserve(4);
        if let Some(session) = &session {
            headers.insert(headers::SESSION_ID.clone(), session.clone());
        }
        if let Some(revision) = revision.filter(|revision| *revision >= Revision::V2025_06_18) {
            let version = HeaderValue::from_static(revision.as_str());
            headers.insert(headers::PROTOCOL_VERSION.clone(), version);
        }
        Negotiated { revision, session, headers }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.is_some_and(Revision::is_stateless)
    }

    /// Whether an error response contradicts the negotiated revision, so that another server may be answering now. A
    /// stateless server refuses requests without the `_meta` of its revision, a session-based server refuses requests
    /// without a session, and an HTTP+SSE server accepts no POST at this URL.
    pub(crate) fn is_contradicted_by(&self, status: u16, code: i64) -> bool {
        let stateless = [code::HEADER_MISMATCH, code::MISSING_CAPABILITY, code::UNSUPPORTED_VERSION].contains(&code);
        match self.revision {
            None => matches!(status, 400 | 404 | 405) && !stateless,
            Some(revision) if revision.is_stateless() => status == 400 && !stateless && code != code::INVALID_PARAMS,
            Some(_) => status == 400 && [code::HEADER_MISMATCH, code::INVALID_PARAMS].contains(&code),
        }
    }
}
