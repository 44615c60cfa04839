//! Deletes the values that scripts stored for a session when its client disconnects.

use crate::Server;
use crate::client::state::Client;
use proxy_model::{Owner, Principal};

impl Server {
    /// Deletes the values of an ended session in the background.
    pub(super) fn forget_session(&self, client: &Client) {
        let (server, principal, owner) = (self.clone(), client.principal.clone(), client.owner.clone());
        tokio::spawn(async move { server.forget_values_of(&principal, &owner).await });
    }

    /// Deletes the values of a session. The values of an authenticated principal belong to the principal and stay.
    pub(super) async fn forget_values_of(&self, principal: &Principal, owner: &Owner) {
        let owner = Owner::of_values(principal, Some(owner));
        if !matches!(owner, Owner::Session(_) | Owner::Process) {
            return;
        }
        if let Err(error) = self.gateway.calls().store.forget(&owner).await {
            tracing::debug!("cannot delete the stored values of a session; they stay until they expire: {error}");
        }
    }
}
