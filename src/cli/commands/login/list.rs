//! `proxy login --list`: the authorization of each server with `url`. It never shows a token.

use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::source::LogInSource;
use super::{KnownLogIns, WaitingLogIn, unused};
use crate::cli::age::{age, ago};
use crate::cli::failure::CommandFailure;
use crate::cli::setup::LoadedConfig;
use crate::cli::{output, setup, table};
use proxy_config::{ServerConfig, TransportConfig};
use proxy_identity::oauth::{LogInDescription, LogInError, LogInKind, LogInState, LogIns, UnusedLogIn, WhyUnused};
use proxy_mcp_client::{Cache, idle_view};
use proxy_model::{BackendView, Who};

const HEADER: [&str; 10] =
    ["SERVER", "PERSON", "STATUS", "TYPE", "ISSUER", "CLIENT ID", "SCOPES", "EXPIRES", "RENEWED", "TO DO"];

/// One server, or the account of one person there.
struct ListedServer {
    name: String,
    /// Whose account it is; empty if it is everybody's.
    person: String,
    known: ListedLogIn,
}

enum ListedLogIn {
    Described(Box<LogInDescription>),
    /// The config has its credentials.
    Header,
    /// Everybody has an account of their own, and nobody has logged in.
    Nobody,
    /// The record cannot be read.
    Unreadable(String),
}

pub(super) fn run(source: &LogInSource, json: bool) -> Result<(), CommandFailure> {
    let loaded = source.load_to_list()?;
    let Listed { entries, unused } = listed(&loaded)?;
    if json {
        let all = entries.iter().map(ListedServer::json).chain(unused.iter().map(unused::json));
        output::json(&all.collect::<Vec<_>>());
    } else if entries.is_empty() && unused.is_empty() {
        output::err("the config has no servers with `url`: only these need authorization");
    } else {
        let rows = entries.iter().map(ListedServer::row).chain(unused.iter().map(unused::row));
        output::out(&table::render(&HEADER, &rows.collect::<Vec<_>>()));
    }
    let waits = entries.iter().any(ListedServer::waits);
    if waits { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
}

/// Where somebody has to log in, and how many authorizations were looked at.
pub(super) fn waiting(loaded: &LoadedConfig) -> Result<KnownLogIns, CommandFailure> {
    let entries = listed(loaded)?.entries;
    let waiting = entries.iter().filter(|entry| entry.waits()).map(|entry| WaitingLogIn {
        server: entry.name.clone(),
        person: if entry.person.is_empty() { None } else { Some(entry.person.clone()) },
        why: match &entry.known {
            ListedLogIn::Described(known) => known.last_error.clone().unwrap_or_default(),
            ListedLogIn::Unreadable(error) => error.clone(),
            ListedLogIn::Header | ListedLogIn::Nobody => String::new(),
        },
    });
    Ok(KnownLogIns { waiting: waiting.collect(), known: entries.len() })
}

/// What there is.
struct Listed {
    entries: Vec<ListedServer>,
    /// What the config has no use for.
    unused: Vec<UnusedLogIn>,
}

fn listed(loaded: &LoadedConfig) -> Result<Listed, CommandFailure> {
    let runtime = setup::runtime()?;
    let _entered = runtime.enter();
    let log_ins = super::log_ins(&loaded.config);
    let cache = Cache::at(setup::options(loaded.bundled)?.cache_folder);
    let has_url = |server: &ServerConfig| match &server.transport {
        TransportConfig::Stdio { .. } => false,
        TransportConfig::Http { .. } => !server.disabled,
        TransportConfig::OpenApi(_) => server.auth.is_some() && !server.disabled,
    };
    Ok(runtime.block_on(async {
        let unused = unused::of(&log_ins, &loaded.config).await;
        let mut entries = Vec::new();
        for (name, server) in loaded.config.servers.iter().filter(|(_, server)| has_url(server)) {
            if server.personal().is_some() {
                entries.extend(people(&log_ins, name, server, &unused).await);
                continue;
            }
            let known = match log_ins.describe(name, server).await {
                Ok(described) => ListedLogIn::Described(Box::new(with_last_start(
                    described,
                    &idle_view(name, server, &cache, None, None),
                ))),
                Err(LogInError::NotApplicable(_)) => ListedLogIn::Header,
                Err(error) => ListedLogIn::Unreadable(error.to_string()),
            };
            entries.push(ListedServer { name: name.clone(), person: String::new(), known });
        }
        Listed { entries, unused }
    }))
}

/// The accounts of people at a server; one line that says so if there are none.
async fn people(log_ins: &LogIns, name: &str, server: &ServerConfig, unused: &[UnusedLogIn]) -> Vec<ListedServer> {
    // With another URL, a person may have an account in use and one that is left.
    let is_left = |unused: &UnusedLogIn, who: &Who| {
        unused.entry == *name && unused.who.as_ref() == Some(who) && unused.why != WhyUnused::NoServer
    };
    let is_used = |who: &Who| !unused.iter().any(|unused| is_left(unused, who));
    let listed = |person: &str, known| ListedServer { name: name.to_owned(), person: person.to_owned(), known };
    match log_ins.describe_people(name, server).await {
        Ok(people) if !people.iter().any(|(who, _)| is_used(who)) => vec![listed("", ListedLogIn::Nobody)],
        Ok(people) => {
            let people = people.into_iter().filter(|(who, _)| is_used(who));
            people.map(|(who, known)| listed(&who.sub, ListedLogIn::Described(Box::new(known)))).collect()
        }
        Err(LogInError::NotApplicable(_)) => vec![listed("", ListedLogIn::Header)],
        Err(error) => vec![listed("", ListedLogIn::Unreadable(error.to_string()))],
    }
}

/// For a server without `auth` in the config, its last start decides whether it asks for authorization.
fn with_last_start(mut described: LogInDescription, view: &BackendView) -> LogInDescription {
    if (described.kind, described.state) == (LogInKind::Undeclared, LogInState::NotNeeded)
        && let Some(failure) = view.last_known.as_ref().and_then(|known| known.failure.as_ref())
        && failure.login
    {
        described.state = LogInState::LogInNeeded;
        described.what_to_do = Some(failure.error.clone());
    }
    described
}

impl ListedServer {
    /// Whether somebody has to do something before the server can be used.
    fn waits(&self) -> bool {
        match &self.known {
            ListedLogIn::Described(known) => known.state == LogInState::LogInNeeded || !known.wanted_scopes.is_empty(),
            ListedLogIn::Header | ListedLogIn::Nobody => false,
            ListedLogIn::Unreadable(_) => true,
        }
    }

    fn status(&self) -> &'static str {
        match &self.known {
            ListedLogIn::Described(known) => match known.state {
                LogInState::LoggedIn => "ok",
                LogInState::LogInNeeded => "login",
                LogInState::NotNeeded if known.kind == LogInKind::Undeclared => "none",
                LogInState::NotNeeded => "automatic",
            },
            ListedLogIn::Header => "ok",
            ListedLogIn::Nobody => "none",
            ListedLogIn::Unreadable(_) => "error",
        }
    }

    fn row(&self) -> Vec<String> {
        let (name, person, status) = (self.name.clone(), self.person.clone(), self.status().to_owned());
        let known = match &self.known {
            ListedLogIn::Described(known) => known,
            ListedLogIn::Header => return row([name, person, status, "header".to_owned()], ""),
            ListedLogIn::Nobody => return row([name, person, status, "oauth".to_owned()], "nobody has logged in yet"),
            ListedLogIn::Unreadable(error) => return row([name, person, status, String::new()], error),
        };
        let to_do: Vec<&str> =
            [&known.last_error, &known.what_to_do].into_iter().flatten().map(String::as_str).collect();
        vec![
            name,
            person,
            status,
            known.kind.as_str().to_owned(),
            known.issuer.clone().unwrap_or_default(),
            known.client.map(|client| client.as_str().to_owned()).unwrap_or_default(),
            known.scopes.join(" "),
            known.expires_at.map(expires).unwrap_or_default(),
            renewed(known).to_owned(),
            to_do.join("; "),
        ]
    }

    fn json(&self) -> Value {
        let known = match &self.known {
            ListedLogIn::Described(known) => known,
            ListedLogIn::Header => return json!({"server": self.name, "status": self.status(), "type": "header"}),
            ListedLogIn::Nobody => return json!({"server": self.name, "status": self.status(), "type": "oauth"}),
            ListedLogIn::Unreadable(error) => {
                return json!({"server": self.name, "status": self.status(), "lastError": error});
            }
        };
        let expires_at = known.expires_at.and_then(|at| Timestamp::try_from(at).ok()).map(|at| at.to_string());
        let left = known.expires_at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default().as_secs());
        let person = (!self.person.is_empty()).then_some(&self.person);
        json!({
            "server": self.name,
            "person": person,
            "status": self.status(),
            "type": known.kind.as_str(),
            "issuer": known.issuer,
            "client": known.client.map(|client| client.as_str()),
            "scopes": known.scopes,
            "wantedScopes": known.wanted_scopes,
            "expiresAt": expires_at,
            "expiresInSeconds": left,
            "refreshable": known.refreshable,
            "lastError": known.last_error,
            "whatToDo": known.what_to_do,
        })
    }
}

/// A row with nothing between its first cells and the last.
fn row(first: [String; 4], last: &str) -> Vec<String> {
    let mut cells = first.to_vec();
    cells.resize(HEADER.len() - 1, String::new());
    cells.push(last.to_owned());
    cells
}

fn expires(at: SystemTime) -> String {
    match at.duration_since(SystemTime::now()) {
        Ok(left) => format!("in {}", age(left.as_secs())),
        Err(_) => ago(at),
    }
}

fn renewed(known: &LogInDescription) -> &'static str {
    match (known.state, known.refreshable) {
        (LogInState::LoggedIn, true) => "yes",
        (LogInState::LoggedIn, false) => "no",
        (LogInState::NotNeeded, _) if known.kind != LogInKind::Undeclared => "yes",
        _ => "",
    }
}
