//! The accounts of people at a server where everybody has their own.

use std::sync::Arc;

use super::credentials::PersonCredentials;
use super::log_in_table::LogInTable;
use crate::oauth::subject::Subject;
use proxy_config::ServerConfig;
use proxy_model::{CallerCredentials, Credentials, PersonKey};

#[derive(Debug)]
pub(crate) struct CallerAccounts {
    server: String,
    config: ServerConfig,
    table: LogInTable,
}

impl CallerAccounts {
    pub(crate) fn new(server: &str, config: &ServerConfig, table: &LogInTable) -> Self {
        CallerAccounts { server: server.to_owned(), config: config.clone(), table: table.clone() }
    }
}

impl CallerCredentials for CallerAccounts {
    fn of(&self, person: &PersonKey) -> Option<Arc<dyn Credentials>> {
        let subject = Subject::of(&self.server, &self.config, Some(person.who())).ok()?;
        let log_in = self.table.of(&subject);
        Some(Arc::new(PersonCredentials::new(subject, log_in, Arc::clone(&self.table.follower))))
    }
}
