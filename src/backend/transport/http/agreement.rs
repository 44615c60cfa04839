//! What was agreed with a server that is reached by HTTP, and the headers that say so.

use http::{HeaderMap, HeaderValue};

use crate::wire::http::HttpClient;
use crate::wire::{Revision, code, headers};

#[derive(Clone, Debug)]
pub(crate) struct Agreement {
    pub(crate) revision: Option<Revision>,
    pub(crate) session: Option<HeaderValue>,
    pub(crate) headers: HeaderMap,
}

impl Agreement {
    pub(crate) fn new(client: &HttpClient, revision: Option<Revision>, session: Option<HeaderValue>) -> Self {
        let mut headers = client.headers();
        if let Some(session) = &session {
            headers.insert(headers::SESSION_ID.clone(), session.clone());
        }
        if let Some(revision) = revision.filter(|revision| *revision >= Revision::V2025_06_18) {
            let version = HeaderValue::from_static(revision.as_str());
            headers.insert(headers::PROTOCOL_VERSION.clone(), version);
        }
        Agreement { revision, session, headers }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.is_some_and(Revision::is_stateless)
    }

    /// Whether a server with which this was agreed would not answer so: a stateless one misses what belongs to every
    /// request of its own era, a session-based one misses the session; and one of the older transport has nothing to
    /// post to here.
    pub(crate) fn is_broken_by(&self, status: u16, code: i64) -> bool {
        let modern = [code::HEADER_MISMATCH, code::MISSING_CAPABILITY, code::UNSUPPORTED_VERSION].contains(&code);
        match self.revision {
            None => matches!(status, 400 | 404 | 405) && !modern,
            Some(revision) if revision.is_stateless() => status == 400 && !modern && code != code::INVALID_PARAMS,
            Some(_) => status == 400 && [code::HEADER_MISMATCH, code::INVALID_PARAMS].contains(&code),
        }
    }
}
