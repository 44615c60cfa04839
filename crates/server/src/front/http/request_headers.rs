//! The request headers that concern more than the front: those that the config exposes to scripts, and the trace context.

use std::net::IpAddr;
use std::sync::Arc;

use ::http::HeaderMap;

use crate::client::state::{Client, HttpFacts};
use proxy_model::TraceContext;
use proxy_wire::hops;

/// The proxies that a request has passed.
pub(super) fn hops(sent: &HeaderMap) -> Option<Arc<str>> {
    hops::passed(sent).map(Arc::from)
}

pub(super) struct RequestHeaders {
    /// The names of the exposed headers, in lower case.
    exposed: Vec<String>,
    /// Whether requests are traced.
    is_traced: bool,
}

impl RequestHeaders {
    pub(super) fn new(exposed: &[String], is_traced: bool) -> Self {
        RequestHeaders { exposed: exposed.to_vec(), is_traced }
    }

    /// The exposed headers of a request. Multiple values of one header are joined with commas.
    pub(super) fn of(&self, sent: &HeaderMap) -> Arc<[(String, String)]> {
        if self.exposed.is_empty() {
            return Arc::default();
        }
        let value = |name: &String| {
            let values: Vec<&str> = sent.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
            (!values.is_empty()).then(|| (name.clone(), values.join(", ")))
        };
        self.exposed.iter().filter_map(value).collect()
    }

    /// The trace context of a request; `None` if requests are not traced.
    pub(super) fn trace_context(&self, sent: &HeaderMap) -> Option<TraceContext> {
        let mut values = self.is_traced.then(|| sent.get_all("traceparent"))?.iter();
        let context = TraceContext::parse(values.next()?.to_str().ok()?);
        // With a second one, nobody knows which is meant.
        context.filter(|_| values.next().is_none())
    }

    /// The client of a session with what the headers and the connection of this request say.
    pub(super) fn added_to(&self, client: &Arc<Client>, sent: &HeaderMap, peer: Option<IpAddr>) -> Arc<Client> {
        let trace_context = self.trace_context(sent);
        let hops = hops(sent);
        let has_nothing_more = self.exposed.is_empty() && trace_context.is_none() && hops.is_none();
        if has_nothing_more && peer == client.facts.peer {
            return Arc::clone(client);
        }
        let facts = HttpFacts { headers: self.of(sent), trace_context, peer, hops };
        Arc::new(Client { facts, ..Client::clone(client) })
    }
}
