//! Restarts one server at the user's request.

use std::sync::Arc;

use super::Gateway;
use proxy_mcp_client::{Backend, RestartOutcome};
use proxy_model::BackendView;

impl Gateway {
    /// Restarts a server and waits until it is ready or the first attempt has failed. `None` if no server has this name;
    /// an extension is not a server. Surfaces and clients stay; a restart that nobody waits for any more goes on.
    pub async fn restart(&self, server: &str) -> Option<(RestartOutcome, Arc<BackendView>)> {
        if let Some(everybodys) = self.installed.per_person(server) {
            everybodys.restart().await;
            return Some((RestartOutcome::Ready, everybodys.view()));
        }
        let handle = self.installed.server(server)?;
        let outcome = handle.restart().await;
        Some((outcome, handle.view()))
    }
}
