//! Log-ins that a config has no use for: a server, an issuer or a user was removed from it, or it never had them. Where a
//! value of the config is not known, nobody can say.

use super::person::log_out;
use super::storage::{LogInRecord, RecordKey};
use super::subject::Subject;
use super::{LogInError, LogIns, LogOutReport};
use proxy_config::{Config, ServerConfig};
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
    key: RecordKey,
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

/// A log-in of which the config does not tell whether it is used, because a value that decides it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncertainLogIn {
    pub entry: String,
    /// Whose account it is; `None` if it is everybody's.
    pub who: Option<Who>,
    /// Which value is not known.
    pub why: String,
}

/// The log-ins that a config does not use, as far as it tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftLogIns {
    pub unused: Vec<UnusedLogIn>,
    pub uncertain: Vec<UncertainLogIn>,
}

/// What a config says about a log-in.
enum Use {
    Used,
    Unused(WhyUnused),
    /// A value is not known: which one.
    Uncertain(String),
}

impl LogIns {
    /// The log-ins that this config does not use. Configs with the same place for log-ins do not know each other, so another
    /// one may use them.
    pub async fn left(&self, config: &Config) -> Result<LeftLogIns, LogInError> {
        let all = self.table.storage.all().await?;
        let mut left = LeftLogIns::default();
        for (key, record) in all.into_iter().filter(|(_, record)| record.tokens.is_some()) {
            match use_of(config, &key, &record) {
                Use::Used => {}
                Use::Unused(why) => left.unused.push(described(key, record, why)),
                Use::Uncertain(why) => {
                    let who = record.who();
                    left.uncertain.push(UncertainLogIn { entry: record.entry, who, why });
                }
            }
        }
        let sort_key = |log_in: &UnusedLogIn| (log_in.entry.clone(), log_in.person().to_owned(), log_in.url.clone());
        left.unused.sort_by_cached_key(sort_key);
        left.uncertain
            .sort_by_cached_key(|log_in| (log_in.entry.clone(), log_in.who.as_ref().map(|who| who.sub.clone())));
        Ok(left)
    }

    /// Revokes and deletes a log-in that the config does not use.
    pub async fn end_unused(&self, unused: &UnusedLogIn) -> Result<LogOutReport, LogInError> {
        log_out(&self.table.at(&unused.key, None), true).await
    }
}

fn use_of(config: &Config, key: &RecordKey, record: &LogInRecord) -> Use {
    let who = record.who();
    let entry = config.servers.get(&record.entry);
    let server = entry.filter(|server| server.personal().is_some() == who.is_some());
    let subject = server.and_then(|server| Subject::of(&record.entry, server, who.as_ref()).ok());
    if subject.is_none_or(|subject| subject.key != *key) {
        return unused_unless(entry.and_then(unknown_value), WhyUnused::NoServer);
    }
    let unread = |of_people: &dyn Fn(&str) -> bool| {
        config.unread.iter().find(|key| of_people(key.as_str())).map(|key| was_not_read(key))
    };
    match who.map(|who| who.realm) {
        Some(Realm::Issuer(issuer)) if !config.auth.issuers.iter().any(|known| known.issuer == *issuer) => {
            let unknown = unread(&|key| key.starts_with("auth.issuers"));
            unused_unless(unknown, WhyUnused::NoIssuer(issuer.to_string()))
        }
        Some(Realm::Static) if !config.auth.tokens.iter().any(|token| token.sub == record.person) => {
            let unknown = unread(&|key| key.starts_with("auth.tokens") && key.ends_with(".sub"));
            unused_unless(unknown, WhyUnused::NoUser)
        }
        _ => Use::Used,
    }
}

fn unused_unless(unknown: Option<String>, why: WhyUnused) -> Use {
    unknown.map_or(Use::Unused(why), Use::Uncertain)
}

/// The value of an entry that decides which log-in it uses, and is not known: because a variable is not set, or because it
/// was left unread.
fn unknown_value(server: &ServerConfig) -> Option<String> {
    const DECIDING: [&str; 6] =
        [".url", ".auth.issuer", ".auth.authorizationUrl", ".auth.tokenUrl", ".auth.type", ".auth.per"];
    // An entry with a variable that is not set may be read as one without a URL, or without `auth`.
    let unset = server.unset_variables.first().map(|problem| problem.message.clone());
    let decides = |key: &&String| DECIDING.iter().any(|end| key.ends_with(end));
    unset.or_else(|| server.unread.iter().find(decides).map(|key| was_not_read(key)))
}

fn was_not_read(key: &str) -> String {
    format!("`{key}` was not read")
}

fn described(key: RecordKey, record: LogInRecord, why: WhyUnused) -> UnusedLogIn {
    UnusedLogIn {
        who: record.who(),
        entry: record.entry,
        url: record.server_url,
        issuer: record.authorization_server.issuer,
        scopes: record.granted_scopes,
        why,
        key,
    }
}
