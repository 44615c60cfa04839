//! A request in the form in which a transport sends it.

use std::sync::Arc;

use http::HeaderName;

use super::activity::Activity;
use crate::call::{Cancellation, Peer};

#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) params: String,
    /// The client the request is made for. It receives what the server sends during the request.
    pub(crate) peer: Option<Arc<dyn Peer>>,
    pub(crate) activity: Option<Arc<Activity>>,
    /// `Mcp-Name` and `Mcp-Param-*`, for stateless HTTP.
    pub(crate) headers: Vec<(HeaderName, String)>,
    /// The cancellation of the call. Its reason is sent to the server.
    pub(crate) cancel: Option<&'a Cancellation>,
    /// Whether `notifications/cancelled` may be sent for the request. The protocol forbids it for handshakes.
    pub(crate) cancellable: bool,
}

impl<'a> Outgoing<'a> {
    /// A request of the proxy itself, which cannot be cancelled.
    pub(crate) fn plain(id: u64, method: &'a str, params: String) -> Self {
        Outgoing {
            id,
            method,
            params,
            peer: None,
            activity: None,
            headers: Vec::new(),
            cancel: None,
            cancellable: false,
        }
    }
}
