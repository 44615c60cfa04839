//! The data of one session script run that all surfaces built from it share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::BuildInputs;
use super::version::SurfaceVersion;
use proxy_builtins::{Hook, OtherHook};
use proxy_model::flow::Labels;
use proxy_model::{BackendView, ItemRef};
use proxy_search::SharedIndex;

/// What one run of the session script has decided. Shared by all views of it: what policies leave of a surface for one
/// caller is the same run with fewer items.
#[derive(Debug)]
pub struct RunData {
    /// Distinguishes it from all other runs of this process.
    pub number: u64,
    /// Whether a tool may require `Mcp-Param-*` headers.
    pub(super) has_param_headers: bool,
    /// The version of the snapshot that the script ran on.
    pub snapshot: u64,
    /// The namespace of the script's values in the store.
    pub namespace: Arc<str>,
    /// Whether the script has set the instructions. Otherwise they are those of the servers.
    pub(super) has_own_instructions: bool,
    /// The only server, if the surface publishes it unchanged.
    pub(super) mirrors: Option<Arc<BackendView>>,
    pub(super) indexes: Vec<Arc<SharedIndex>>,
    /// The labels that the script has set on items of servers.
    pub(super) labels: HashMap<ItemRef, Labels>,
    /// The script's function that runs before every call of an item.
    pub(super) on_request: Option<Hook>,
    /// The script's function that runs before requests that are not for an item.
    pub(super) on_other_request: Option<OtherHook>,
    /// What is needed to build the surface for other clients.
    pub(super) build_inputs: BuildInputs,
    /// Whether the script read the principal or the client.
    pub(super) is_personal: bool,
    /// Whether the script read what the client accepts.
    pub(super) reads_row: bool,
    pub(super) version: SurfaceVersion,
}

/// The number of the next run.
pub(super) fn next_run() -> u64 {
    static RUNS: AtomicU64 = AtomicU64::new(1);
    RUNS.fetch_add(1, Ordering::Relaxed)
}
