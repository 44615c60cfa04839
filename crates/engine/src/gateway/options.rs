//! The settings that the caller of the gateway provides in addition to the config.

use std::path::PathBuf;
use std::sync::Arc;

use proxy_host_io::HostIo;
use proxy_mcp_client::{SoleClient, StartPolicy};
use proxy_model::Principal;

/// The environment of a gateway: paths, environment variables and built-in extensions.
#[derive(Clone, Debug)]
pub struct GatewayOptions {
    /// Folder for the last known lists of the servers and for embedding vectors; `None` disables these caches.
    pub cache_folder: Option<PathBuf>,
    /// Folder for what is kept between runs, such as log-ins at servers.
    pub state_folder: Option<PathBuf>,
    /// This program: the meaning of `command: proxy`, and the executable of the watchdog.
    pub executable: PathBuf,
    /// The environment variables of the process.
    pub variables: Vec<(String, String)>,
    /// The user for whom the session script runs first; `None` chooses from the config.
    pub first_user: Option<Principal>,
    /// Also serve the extensions shipped in the binary.
    pub bundled: bool,
    /// Whether there is only one client, which [`Gateway::introduce`](super::Gateway::introduce) describes when it is known.
    pub sole_client: bool,
    /// The only client, if it is known before the servers start.
    pub client: Option<SoleClient>,
    /// Whether tools are embedded as the config says. A command that searches nothing needs no vectors.
    pub search_by_meaning: bool,
    /// Which servers are started before anybody calls them.
    pub start: StartPolicy,
    /// Whether servers are shown as they list themselves, without the lock.
    pub ignores_lock: bool,
}

impl GatewayOptions {
    /// The I/O that local tools may do.
    pub(super) fn host_io(&self) -> Arc<HostIo> {
        Arc::new(HostIo::new(self.variables.clone(), Some(self.executable.clone())))
    }
}

/// Where clients reach the proxy.
#[derive(Debug)]
pub struct Endpoint {
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// The URL, if there is one.
    pub address: Option<String>,
}

impl Endpoint {
    /// The path of the URL.
    pub(super) fn path(&self) -> Option<&str> {
        let (_, rest) = self.address.as_ref()?.split_once("://")?;
        rest.find('/').map(|start| &rest[start..])
    }
}
