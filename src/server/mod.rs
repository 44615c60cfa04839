//! The MCP server that clients connect to: methods, sessions, header checks, identity; what a backend answered is told
//! in the client's own era.

mod front;
mod era;
mod methods;
mod client;
mod input_required;
mod unlisted;

use std::sync::Arc;

pub use front::http::HttpFront;
pub use front::identity::Identity;
pub use front::stdio::serve_stdio;

use crate::calls::PolicyNow;
use crate::gateway::Gateway;
use crate::model::Secret;
use crate::seal::Sealer;
use crate::surface::Surface;
use crate::wire::RpcError;
use client::client::Client;
use client::links::LinkTable;
use front::clients::Clients;
use input_required::conversation::Conversations;
use input_required::journals::SuspendedSurfaces;
use input_required::ticket::Tickets;

/// What every front shares.
#[derive(Clone)]
pub struct Server {
    gateway: Arc<Gateway>,
    sealer: Sealer,
    tickets: Arc<Tickets>,
    conversations: Arc<Conversations>,
    links: Arc<LinkTable>,
    suspended: Arc<SuspendedSurfaces>,
    policy: PolicyNow,
    clients: Arc<Clients>,
}

impl Server {
    /// `keys` seal what clients bring back, newest first; without any, one is made that lives as long as the server.
    ///
    /// # Errors
    /// If the system has no randomness to give.
    pub fn new(gateway: Arc<Gateway>, keys: &[Secret]) -> Result<Self, getrandom::Error> {
        let sealer = Sealer::with_keys(keys.iter().map(Secret::reveal))?;
        let tickets = Arc::new(Tickets::new(sealer.clone()));
        let current = gateway.watch();
        let policy = PolicyNow::new(move || current.borrow().surface.as_ref().map(|now| Arc::clone(now.policy())));
        Ok(Server {
            gateway,
            sealer,
            tickets,
            conversations: Arc::default(),
            links: Arc::default(),
            suspended: Arc::default(),
            policy,
            clients: Arc::default(),
        })
    }

    /// The surface that a client sees now.
    async fn surface(&self, client: &Client) -> Result<Arc<Surface>, RpcError> {
        let surface = self.gateway.surface(&client.surface_handle).await.map_err(|error| {
            tracing::error!("{error}");
            RpcError::internal("the proxy's session script failed; its log says why")
        })?;
        if let Some(seen) = &client.seen {
            seen.first(&surface);
        }
        Ok(surface)
    }
}
