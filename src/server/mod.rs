//! The MCP server that clients connect to: methods, sessions, header checks, identity; what a backend answered is told
//! in the client's own era.

mod batch;
mod changes;
mod completion;
mod era;
mod http;
mod identity;
mod in_flight;
mod items;
mod listen;
mod methods;
mod outlet;
mod progress;
mod session;
mod sessions;
mod stateless;
mod stdio;
mod stream;
mod tell;

use std::sync::Arc;

pub use http::HttpFront;
pub use identity::Identity;
pub use stdio::serve_stdio;

use crate::gateway::Gateway;

/// What every front shares.
#[derive(Clone)]
pub struct Server {
    gateway: Arc<Gateway>,
}

impl Server {
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Server { gateway }
    }
}
