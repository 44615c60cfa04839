//! The MCP server that clients connect to: methods, sessions, header checks, identity; what a backend answered is told
//! in the client's own era.

mod batch;
mod blocks;
mod capabilities;
mod changes;
mod completion;
mod era;
mod foreign;
mod http;
mod identity;
mod in_flight;
mod items;
mod links;
mod listen;
mod methods;
mod missing;
mod outlet;
mod progress;
mod returned;
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
use links::LinkTable;

/// What every front shares.
#[derive(Clone)]
pub struct Server {
    gateway: Arc<Gateway>,
    links: Arc<LinkTable>,
}

impl Server {
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Server { gateway, links: Arc::default() }
    }
}
