//! The server that `proxy login` is for.

use std::path::PathBuf;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, LoadedConfig, SourceArgs};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_config::{AuthConfig, Config, ServerConfig, TransportConfig};
use proxy_identity::bearer::named_user;
use proxy_model::{NamedUser, Who};
use proxy_server::Authenticator;

/// Options that select the servers. Logging in does not involve scripts and extensions.
#[derive(Debug, Args)]
pub(super) struct LogInSource {
    /// Config file; repeatable [default: as for the other commands]
    #[arg(short, long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Add a server: NAME=URL; repeatable
    #[arg(long = "server", value_name = "NAME=URL")]
    servers: Vec<String>,
}

impl LogInSource {
    pub(super) fn load(&self) -> Result<LoadedConfig, CommandFailure> {
        self.args().load()
    }

    /// Runs the commands in the config only if the authorizations cannot be read without.
    pub(super) fn load_to_list(&self) -> Result<LoadedConfig, CommandFailure> {
        let loaded = self.args().load_without_commands()?;
        let is_needed = |key: &String| key.starts_with("store.") || key.starts_with("serve.stateKeys");
        if loaded.config.unread.iter().any(is_needed) { self.load() } else { Ok(loaded) }
    }

    fn args(&self) -> SourceArgs {
        SourceArgs::of_servers(self.config.clone(), self.servers.clone())
    }
}

/// The server of this name. A server that runs on this machine does not support `proxy login`, and neither does one with
/// an `Authorization` header in the config.
pub(super) fn find<'a>(loaded: &'a LoadedConfig, name: &str) -> Result<&'a ServerConfig, CommandFailure> {
    let Some(server) = loaded.config.servers.get(name) else { return Err(unknown(loaded, name)) };
    match &server.transport {
        TransportConfig::Stdio { .. } => {
            let problem =
                format!("server `{name}` has a `command`: it gets its credentials from `env`, not from `proxy login`");
            Err(refused(server, problem, "only servers with `url` support `proxy login`"))
        }
        TransportConfig::Http { headers, .. }
            if headers.keys().any(|key| key.eq_ignore_ascii_case("authorization")) =>
        {
            let problem = format!("server `{name}` has its credentials in the config: the header `Authorization`");
            Err(refused(server, problem, "remove it from `headers` to log in instead"))
        }
        TransportConfig::Http { .. } => Ok(server),
    }
}

/// Whose account at a server a command is about: the local user's, or that of the user that an operator names, if everybody
/// has their own. `None` if there is one account for all.
pub(super) fn account(
    config: &Config,
    name: &str,
    server: &ServerConfig,
    as_user: Option<&str>,
) -> Result<Option<Who>, CommandFailure> {
    match (server.personal(), as_user) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            let problem = format!("server `{name}` has one account for all");
            Err(refused(server, problem, "set `per: person` in its `auth` for an account of each person"))
        }
        (Some(_), None) => Ok(Some(Authenticator::local_user(&setup::variables()).who.clone())),
        (Some(_), Some(sub)) => named(config, sub).map(Some),
    }
}

/// The user of this name, as scripts see it.
pub(super) fn named(config: &Config, sub: &str) -> Result<Who, CommandFailure> {
    if sub.is_empty() {
        return Err(CommandFailure::usage("--as-user is empty: name a user"));
    }
    let named = NamedUser { sub: sub.to_owned(), claims: serde_json::Map::new() };
    named_user(&config.auth, &named).map(|principal| principal.who.clone()).map_err(CommandFailure::usage)
}

/// Checks that this server uses interactive authorization.
pub(super) fn by_a_person(name: &str, server: &ServerConfig) -> Result<(), CommandFailure> {
    let kind = match &server.auth {
        None | Some(AuthConfig::OAuth(_)) => return Ok(()),
        Some(AuthConfig::ClientCredentials(_)) => "clientCredentials",
        Some(AuthConfig::Enterprise(_)) => "enterprise",
        Some(AuthConfig::TokenExchange(_)) => "tokenExchange",
        Some(AuthConfig::Signed(_)) => "signed",
    };
    let problem = format!("the proxy logs in to server `{name}` by itself: its `auth.type` is `{kind}`");
    Err(refused(server, problem, "`proxy login --list` shows the result"))
}

fn refused(server: &ServerConfig, problem: String, hint: &str) -> CommandFailure {
    let problem = Diagnostic::error(problem).hint(hint);
    match &server.place {
        Some(place) => problem.at(place.clone()).into(),
        None => problem.into(),
    }
}

fn unknown(loaded: &LoadedConfig, name: &str) -> CommandFailure {
    let problem = Diagnostic::error(format!("unknown server `{name}`"));
    let hint = match nearest(name, loaded.config.servers.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if loaded.bundled => "no config file was found: `proxy init` writes one, `--config` names one".to_owned(),
        None => match with_url(&loaded.config).as_slice() {
            [] => "the config has no server with `url`".to_owned(),
            names => format!("the servers with `url` are {}", names.join(", ")),
        },
    };
    problem.hint(hint).into()
}

fn with_url(config: &Config) -> Vec<String> {
    let has_url = |server: &ServerConfig| matches!(server.transport, TransportConfig::Http { .. });
    config.servers.iter().filter(|(_, server)| has_url(server)).map(|(name, _)| format!("`{name}`")).collect()
}
