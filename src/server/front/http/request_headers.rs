//! The headers of a request that scripts may see: those that the config names, and no others.

use std::sync::Arc;

use ::http::HeaderMap;

use crate::server::client::client::Client;

/// Their names, in lower case.
pub(super) struct RequestHeaders(Vec<String>);

impl RequestHeaders {
    pub(super) fn new(names: &[String]) -> Self {
        RequestHeaders(names.to_vec())
    }

    /// What a request has of them; one that occurs several times is joined.
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

    /// The client of a session, as it makes this request.
    pub(super) fn added_to(&self, client: &Arc<Client>, sent: &HeaderMap) -> Arc<Client> {
        if self.0.is_empty() {
            return Arc::clone(client);
        }
        Arc::new(Client { headers: self.of(sent), ..Client::clone(client) })
    }
}
