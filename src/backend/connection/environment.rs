//! What all servers share.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;

use super::cache::Cache;
use super::start_places::StartPlaces;
use crate::model::Abilities;
use crate::wire::http::HttpPool;

#[derive(Clone, Debug)]
pub struct Environment {
    pub pool: HttpPool,
    pub cache: Cache,
    /// The program that `command: proxy` runs.
    pub executable: PathBuf,
    /// The environment variables of the proxy.
    pub variables: Vec<(String, String)>,
    /// The places for processes that are starting.
    pub start_places: StartPlaces,
    /// Notified when the view of a server changes.
    pub changes: Arc<Notify>,
    /// The abilities of the proxy's only client, once they are known. The main connections declare them, so that no server
    /// needs a side connection.
    pub sole_client: Arc<ArcSwapOption<Abilities>>,
}
