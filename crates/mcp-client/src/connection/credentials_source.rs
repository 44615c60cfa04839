//! Where servers get their log-ins from.

use std::fmt;
use std::sync::Arc;

use proxy_config::ServerConfig;
use proxy_model::{CallerCredentials, Credentials};

type Find = dyn Fn(&str, &ServerConfig) -> Option<Arc<dyn Credentials>> + Send + Sync;
type FindOfPeople = dyn Fn(&str, &ServerConfig) -> Option<Arc<dyn CallerCredentials>> + Send + Sync;

/// Gives each server its log-in. By default no server has one.
#[derive(Clone)]
pub struct CredentialsSource {
    find: Arc<Find>,
    find_of_people: Arc<FindOfPeople>,
}

impl CredentialsSource {
    pub fn new(find: impl Fn(&str, &ServerConfig) -> Option<Arc<dyn Credentials>> + Send + Sync + 'static) -> Self {
        CredentialsSource { find: Arc::new(find), find_of_people: Arc::new(|_, _| None) }
    }

    /// Gives the log-ins of all people too, where everybody has their own.
    #[must_use]
    pub fn with_people(
        self,
        find: impl Fn(&str, &ServerConfig) -> Option<Arc<dyn CallerCredentials>> + Send + Sync + 'static,
    ) -> Self {
        CredentialsSource { find_of_people: Arc::new(find), ..self }
    }

    /// The log-ins of all people at a server; `None` if all share one.
    pub(crate) fn of_people(&self, name: &str, server: &ServerConfig) -> Option<Arc<dyn CallerCredentials>> {
        (self.find_of_people)(name, server)
    }

    /// The log-in at a server; `None` if the server has no need of one.
    pub(super) fn of(&self, name: &str, server: &ServerConfig) -> Option<Arc<dyn Credentials>> {
        (self.find)(name, server)
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
