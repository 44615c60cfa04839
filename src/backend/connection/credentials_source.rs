//! Where servers get their log-ins from.

use std::fmt;
use std::sync::Arc;

use crate::config::ServerConfig;
use crate::model::Credentials;

type Find = dyn Fn(&str, &ServerConfig) -> Option<Arc<dyn Credentials>> + Send + Sync;

/// Gives each server its log-in. By default no server has one.
#[derive(Clone)]
pub struct CredentialsSource(Arc<Find>);

impl CredentialsSource {
    pub fn new(find: impl Fn(&str, &ServerConfig) -> Option<Arc<dyn Credentials>> + Send + Sync + 'static) -> Self {
        CredentialsSource(Arc::new(find))
    }

    /// The log-in at a server; `None` if the server has no need of one.
    pub(super) fn of(&self, name: &str, server: &ServerConfig) -> Option<Arc<dyn Credentials>> {
        (self.0)(name, server)
    }
}

impl Default for CredentialsSource {
    fn default() -> Self {
        CredentialsSource::new(|_, _| None)
    }
}

impl fmt::Debug for CredentialsSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CredentialsSource")
    }
}
