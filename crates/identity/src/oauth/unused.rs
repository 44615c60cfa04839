//! Log-ins that a config has no use for: a server, an issuer or a user was removed from it, or it never had them.

use super::person::log_out;
use super::storage::{LogInRecord, RecordKey};
use super::subject::Subject;
use super::{LogInError, LogIns, LogOutReport};
use proxy_config::Config;
use proxy_model::{Realm, Who};

/// A log-in that a config has no use for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedLogIn {
    /// The entry that it was made for.
    pub entry: String,
    pub url: String,
    /// Whose account it is; `None` if it is everybody's.
    pub who: Option<Who>,
    /// The authorization server.
    pub issuer: String,
    pub scopes: Vec<String>,
    pub why: WhyUnused,
}

impl UnusedLogIn {
    /// The name of the person; empty if it is everybody's.
    pub fn person(&self) -> &str {
        self.who.as_ref().map_or("", |who| &who.sub)
    }
}

/// What the config does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyUnused {
    /// A server of this name with this URL and this kind of account.
    NoServer,
    /// The issuer that the person is known from.
    NoIssuer(String),
    /// The static token of the person.
    NoUser,
}

impl LogIns {
    /// The log-ins that this config has no use for. Configs with the same place for log-ins do not know each other, so another
    /// one may use them.
    pub async fn unused(&self, config: &Config) -> Result<Vec<UnusedLogIn>, LogInError> {
        let mut unused: Vec<UnusedLogIn> =
            self.unused_records(config).await?.into_iter().map(|(_, record, why)| described(record, why)).collect();
        let sort_key = |log_in: &UnusedLogIn| (log_in.entry.clone(), log_in.person().to_owned(), log_in.url.clone());
        unused.sort_by_cached_key(sort_key);
        Ok(unused)
    }

    /// Revokes and deletes the log-ins that this config has no use for, of this entry alone if it is named.
    pub async fn log_out_of_unused(
        &self,
        config: &Config,
        entry: Option<&str>,
    ) -> Result<Vec<(UnusedLogIn, LogOutReport)>, LogInError> {
        let mut ended = Vec::new();
        for (key, record, why) in self.unused_records(config).await? {
            if entry.is_some_and(|entry| record.entry != *entry) {
                continue;
            }
            let report = log_out(&self.table.at(&key, None), true).await?;
            ended.push((described(record, why), report));
        }
        Ok(ended)
    }

    async fn unused_records(&self, config: &Config) -> Result<Vec<(RecordKey, LogInRecord, WhyUnused)>, LogInError> {
        let all = self.table.storage.all().await?;
        let unused = all.into_iter().filter(|(_, record)| record.tokens.is_some()).filter_map(|(key, record)| {
            let why = why_unused(config, &key, &record)?;
            Some((key, record, why))
        });
        Ok(unused.collect())
    }
}

/// `None` if the config uses the log-in.
fn why_unused(config: &Config, key: &RecordKey, record: &LogInRecord) -> Option<WhyUnused> {
    let who = record.who();
    let server = config.servers.get(&record.entry).filter(|server| server.personal().is_some() == who.is_some());
    let subject = server.and_then(|server| Subject::of(&record.entry, server, who.as_ref()).ok());
    if subject.is_none_or(|subject| subject.key != *key) {
        return Some(WhyUnused::NoServer);
    }
    match who?.realm {
        Realm::Issuer(issuer) => {
            let is_known = config.auth.issuers.iter().any(|known| known.issuer == *issuer);
            (!is_known).then(|| WhyUnused::NoIssuer(issuer.to_string()))
        }
        Realm::Static => {
            let is_known = config.auth.tokens.iter().any(|token| token.sub == record.person);
            (!is_known).then_some(WhyUnused::NoUser)
        }
        Realm::Local | Realm::Anonymous => None,
    }
}

fn described(record: LogInRecord, why: WhyUnused) -> UnusedLogIn {
    UnusedLogIn {
        who: record.who(),
        entry: record.entry,
        url: record.server_url,
        issuer: record.authorization_server.issuer,
        scopes: record.granted_scopes,
        why,
    }
}
