//! The request headers that the config exposes to scripts.

use std::sync::Arc;

use ::http::HeaderMap;

use crate::server::client::state::Client;

/// The names of the exposed headers, in lower case.
pub(super) struct RequestHeaders(Vec<String>);

impl RequestHeaders {
    pub(super) fn new(names: &[String]) -> Self {
        RequestHeaders(names.to_vec())
    }

    /// The exposed headers of a request. Multiple values of one header are joined with commas.
    pub(super) fn of(&self, sent: &HeaderMap) -> Arc<[(String, String)]> {
        if self.0.is_empty() {
            return Arc::default();
        }
        let value = |name: &String| {
            let values: Vec<&str> = sent.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
            (!values.is_empty()).then(|| (name.clone(), values.join(", ")))
        };
        self.0.iter().filter_map(value).collect()
    }

    /// The client of a session with the exposed headers of this request.
    pub(super) fn added_to(&self, client: &Arc<Client>, sent: &HeaderMap) -> Arc<Client> {
        if self.0.is_empty() {
            return Arc::clone(client);
        }
        Arc::new(Client { headers: self.of(sent), ..Client::clone(client) })
    }
}
