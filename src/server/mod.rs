//! The MCP server that clients connect to: methods, sessions, header checks, identity; what a backend answered is told
//! in the client's own era.

pub(crate) mod front;
pub(crate) mod era;
pub(crate) mod methods;
pub(crate) mod client;
pub(crate) mod input_required;

use std::sync::Arc;

pub use front::http::HttpFront;
pub use front::identity::Identity;
pub use front::stdio::serve_stdio;

use crate::calls::PolicyNow;
use crate::gateway::Gateway;
use crate::model::Secret;
use crate::seal::Sealer;
use client::links::LinkTable;
use front::clients::Clients;
use input_required::conversation::Conversations;
use input_required::journals::Held;
use input_required::ticket::Tickets;

/// What every front shares.
#[derive(Clone)]
pub struct Server {
    gateway: Arc<Gateway>,
    sealer: Sealer,
    tickets: Arc<Tickets>,
    conversations: Arc<Conversations>,
    links: Arc<LinkTable>,
    held: Arc<Held>,
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
            held: Arc::default(),
            policy,
            clients: Arc::default(),
        })
    }
}
