//! The MCP server that clients connect to: methods, sessions, header checks, identity; what a backend answered is told
//! in the client's own era.

mod batch;
mod blocks;
mod caching;
mod capabilities;
mod changes;
mod clients;
mod completion;
mod conversation;
mod era;
mod followed;
mod vendor_methods;
mod http;
mod identity;
mod in_flight;
mod items;
mod journals;
mod disconnect;
mod links;
mod listen;
mod lists;
mod log_level;
mod methods;
mod missing;
mod older_question;
mod sink;
mod peer;
mod questions;
mod replay;
mod post_process;
mod session;
mod sessions;
mod stateless;
mod stdio;
mod stream;
mod subscriptions;
mod task_names;
mod tasks;
mod encode_for;
mod ticket;

use std::sync::Arc;

pub use http::HttpFront;
pub use identity::Identity;
pub use stdio::serve_stdio;

use crate::calls::PolicyNow;
use crate::gateway::Gateway;
use crate::model::Secret;
use crate::seal::Sealer;
use clients::Clients;
use conversation::Conversations;
use journals::Held;
use links::LinkTable;
use ticket::Tickets;

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
