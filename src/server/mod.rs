//! The MCP server that clients connect to: methods, sessions, header checks, identity; what a backend answered is told
//! in the client's own era.

mod batch;
mod caching;
mod changes;
mod completion;
mod era;
mod followed;
mod http;
mod identity;
mod in_flight;
mod items;
mod listen;
mod lists;
mod methods;
mod outlet;
mod progress;
mod session;
mod sessions;
mod stateless;
mod stdio;
mod stream;
mod subscriptions;
mod tell;

use std::sync::Arc;

pub use http::HttpFront;
pub use identity::Identity;
pub use stdio::serve_stdio;

use crate::gateway::Gateway;
use crate::seal::Sealer;

/// What every front shares.
#[derive(Clone)]
pub struct Server {
    gateway: Arc<Gateway>,
    /// Makes the handles that clients hold for us.
    sealer: Sealer,
}

impl Server {
    /// # Errors
    /// If the system has no randomness to give.
    pub fn new(gateway: Arc<Gateway>) -> Result<Self, getrandom::Error> {
        Ok(Server { gateway, sealer: Sealer::new()? })
    }
}
