//! Deletes the values that scripts stored for a session when the session has ended.

use std::sync::Arc;

use super::session::Session;
use crate::Server;
use proxy_model::{Owner, Principal, SessionDigest};

impl Server {
    /// Ends what sessions have in this process, and deletes their values in the background.
    pub(super) fn end_sessions(&self, sessions: impl IntoIterator<Item = Arc<Session>>) {
        for session in sessions {
            session.close();
            let client = session.client();
            self.forget_values_soon(&client.principal, &client.owner);
        }
    }

    /// Ends, in the background, the sessions at servers that other processes have left to an ended session.
    pub(super) fn end_left_connections(&self, session: SessionDigest) {
        let replicas = Arc::clone(&self.replicas);
        tokio::spawn(async move { replicas.end_left_connections(session).await });
    }

    /// Deletes the values of a session in the background.
    pub(super) fn forget_values_soon(&self, principal: &Principal, owner: &Owner) {
        let server = self.clone();
        let principal = principal.clone();
        let owner = owner.clone();
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
