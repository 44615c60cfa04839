//! When a client leaves: what scripts kept for its session alone is forgotten.

use crate::model::{Owner, Principal};
use crate::server::Server;
use crate::server::client::client::Client;

impl Server {
    /// The session is over. Nobody waits for it.
    pub(crate) fn forget(&self, client: &Client) {
        let (server, principal, owner) = (self.clone(), client.principal.clone(), client.owner.clone());
        tokio::spawn(async move { server.forget_values_of(&principal, &owner).await });
    }

    /// What belongs to a known person stays.
    pub(crate) async fn forget_values_of(&self, principal: &Principal, owner: &Owner) {
        let owner = Owner::of_values(principal, Some(owner));
        if !matches!(owner, Owner::Session(_) | Owner::Process) {
            return;
        }
        if let Err(error) = self.gateway.calls().store.forget(&owner).await {
            tracing::debug!("what was kept for a session stays in the store for a while: {error}");
        }
    }
}
