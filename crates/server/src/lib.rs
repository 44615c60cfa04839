//! The MCP server that clients connect to: HTTP and stdio, sessions, identity, the MCP methods, and the translation of results
//! into the client's protocol revision. It refuses requests without a token or a scope; the engine decides everything else
//! about items.

mod front;
mod era;
mod methods;
mod client;
mod input_required;
mod drain;
mod first_lists;
mod replicas;
mod unlisted;

use std::sync::Arc;

use arc_swap::ArcSwapOption;

pub use front::authenticator::Authenticator;
pub use front::http::HttpFront;
pub use front::stdio::serve_stdio;

use client::links::LinkTable;
use client::state::{Client, ClientSession};
use drain::Drain;
use front::connected_clients::ConnectedClients;
use front::sessions::Sessions;
use input_required::conversation::Conversations;
use input_required::journals::SuspendedSurfaces;
use input_required::ticket::Tickets;
use proxy_base::seal::Sealer;
use proxy_config::Serve;
use proxy_engine::gateway::Gateway;
use proxy_engine::results::PagedResults;
use proxy_engine::surface::Surface;
use proxy_fiber::ServingThreads;
use proxy_identity::bearer::TokenVerifier;
use proxy_model::operator_api::IssuerStatus;
use proxy_model::{CallSource, Secret};
use proxy_telemetry::Telemetry;
use proxy_wire::RpcError;
use replicas::Replicas;

/// The state that the HTTP and stdio fronts share. Cloning is cheap.
#[derive(Clone)]
pub struct Server {
    gateway: Arc<Gateway>,
    sealer: Sealer,
    tickets: Arc<Tickets>,
    conversations: Arc<Conversations>,
    links: Arc<LinkTable>,
    suspended: Arc<SuspendedSurfaces>,
    clients: Arc<ConnectedClients>,
    replicas: Arc<Replicas>,
    drain: Arc<Drain>,
    /// The pages of large results.
    results: Arc<PagedResults>,
    threads: ServingThreads,
    telemetry: Arc<Telemetry>,
    /// The sessions of HTTP clients, if they are served.
    http_sessions: Arc<ArcSwapOption<Sessions>>,
    /// What checks the tokens of HTTP clients, if they are those of issuers.
    verifier: Arc<ArcSwapOption<TokenVerifier>>,
    /// Where requests come from.
    source: CallSource,
}

impl Server {
    /// `serve.stateKeys` encrypt the state that is handed to clients, newest first. Without keys, a random key is generated
    /// that is valid until the process ends.
    ///
    /// # Errors
    /// Fails if the operating system's random number generator fails.
    pub fn new(gateway: Arc<Gateway>, serve: &Serve, threads: ServingThreads) -> Result<Self, getrandom::Error> {
        let sealer = Sealer::with_keys(serve.state_keys.iter().map(Secret::reveal))?;
        let replicas = Replicas::new(Arc::clone(&gateway), sealer.clone(), serve);
        let tickets = Arc::new(Tickets::new(sealer.clone()));
        Ok(Server {
            telemetry: Arc::clone(gateway.calls().dispatcher.telemetry()),
            source: CallSource::Stdio,
            results: Arc::clone(&gateway.calls().results),
            gateway,
            sealer,
            tickets,
            conversations: Arc::default(),
            links: Arc::default(),
            suspended: Arc::default(),
            replicas,
            drain: Arc::default(),
            threads,
            clients: Arc::default(),
            http_sessions: Arc::default(),
            verifier: Arc::default(),
        })
    }

    /// The threads that serve clients.
    pub fn threads(&self) -> &ServingThreads {
        &self.threads
    }

    /// The state of each issuer whose tokens are accepted, for `proxy status`.
    pub fn issuers(&self) -> Vec<IssuerStatus> {
        self.verifier.load().as_ref().map(|verifier| verifier.report()).unwrap_or_default()
    }

    /// The surface that a client sees now.
    async fn surface(&self, client: &Client) -> Result<Arc<Surface>, RpcError> {
        let surface = self.gateway.surface(&client.surface_handle).await.map_err(|error| {
            tracing::error!("{error}");
            RpcError::internal("the proxy's session script failed; see the proxy's log for the reason")
        })?;
        if let Some(ClientSession { seen_lists, .. }) = client.session() {
            seen_lists.set_if_none(|| surface.list_digests());
        }
        Ok(surface)
    }
}
