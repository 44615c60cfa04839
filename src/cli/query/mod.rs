//! Commands that run a single query. The answer comes from a running `proxy serve` with the same config, or else from this
//! process: from cached lists where these are enough, and from the servers that a call needs.

mod answers;
mod local;
mod running;
mod said_before;
mod user;
mod values;
mod watching;

use std::sync::Arc;

use clap::Args;

use super::failure::CommandFailure;
use super::setup::{self, LoadedConfig, SourceArgs};
use super::{output, spinner};
use crate::admin::SurfaceReport;
use proxy_base::diagnostic::Diagnostic;
use proxy_engine::gateway::Gateway;
use proxy_mcp_client::StartPolicy;
use proxy_model::ItemKind;
use proxy_model::operator_api::ServerStatus;

pub(super) use answers::{Answers, report_missing};
pub(super) use local::with_loaded;
pub(super) use running::{RunningProxy, server_log, status};
pub(super) use user::{ActingUser, UserArgs};
pub(super) use watching::{
    call_as_test, call_details, calls, end_sessions, follow, note_account, record, replicas, restart, sessions,
};

/// Without this line, a new user takes the built-in examples for extensions in the current folder.
const NO_CONFIG: &str = "no config file found: using the built-in extensions. `--extension DIR` uses your own, `proxy init` writes a config";

/// Options that select the servers and the session script, and whether cached lists may be used.
#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// Start all servers instead of using cached lists
    #[arg(long)]
    pub(super) live: bool,
}

/// [`ServerArgs`] with the user to act as.
#[derive(Debug, Args)]
pub(super) struct QueryArgs {
    #[command(flatten)]
    pub(super) user: UserArgs,
    #[command(flatten)]
    pub(super) servers: ServerArgs,
}

impl ServerArgs {
    /// A query of these options and of this loaded config, for the local user.
    pub(super) fn query<'a>(&self, loaded: &'a LoadedConfig, json: bool) -> Query<'a> {
        let start = if self.live { StartPolicy::All } else { StartPolicy::Unknown };
        Query { start, status_line: !json, ..Query::of_config(loaded) }
    }
}

impl QueryArgs {
    pub(super) fn load(&self) -> Result<LoadedConfig, CommandFailure> {
        self.servers.source.load_without_commands()
    }

    /// A query of these options and of this loaded config.
    pub(super) fn query<'a>(&self, loaded: &'a LoadedConfig, json: bool) -> Result<Query<'a>, CommandFailure> {
        Ok(Query { user: self.user.user(&loaded.config)?, ..self.servers.query(loaded, json) })
    }
}

/// A query of a command about a config.
pub(super) struct Query<'a> {
    pub(super) loaded: &'a LoadedConfig,
    pub(super) start: StartPolicy,
    /// The user whose surface it is. The session script runs for nobody else.
    pub(super) user: ActingUser,
    /// The only item that matters: its server is started, and servers that cannot offer it are not waited for.
    pub(super) wanted: Option<(ItemKind, &'a str)>,
    /// Whether a code mode script will run.
    pub(super) runs_code: bool,
    /// Whether this process embeds tools, to search them by meaning.
    pub(super) search_by_meaning: bool,
    /// Whether to say where the answer comes from, on a terminal.
    pub(super) status_line: bool,
}

impl<'a> Query<'a> {
    /// A query about the last known state of a config, for the local user.
    pub(super) fn of_config(loaded: &'a LoadedConfig) -> Self {
        Query {
            loaded,
            start: StartPolicy::Unknown,
            user: ActingUser::local().under(&loaded.config),
            wanted: None,
            runs_code: false,
            search_by_meaning: false,
            status_line: false,
        }
    }
}

impl Query<'_> {
    fn say(&self, line: Option<String>) {
        if let Some(line) = line.filter(|_| self.status_line) {
            output::status_line(&line);
        }
    }

    /// Says which process answers.
    fn say_running(&self, pid: u32) {
        self.say(Some(format!("from the running `proxy serve`, process {pid}; --live starts the servers")));
    }
}

/// Runs `work` with what the running proxy or this process knows.
pub(super) fn answer<T>(
    query: &Query<'_>,
    work: impl AsyncFnOnce(&Answers) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    setup::runtime()?.block_on(async {
        if let Some(running) = running::serving(query).await {
            query.say_running(running.pid);
            return work(&Answers::Running(running)).await;
        }
        query.say(query.loaded.bundled.then(|| NO_CONFIG.to_owned()));
        local::run(query, async |operator| work(&Answers::Local(operator)).await).await
    })
}

/// The running proxy of this config and what its servers offer; `None` if there is none.
pub(super) async fn running_servers(query: &Query<'_>) -> Option<(Arc<RunningProxy>, SurfaceReport)> {
    let running = running::serving(query).await?;
    let report = running.report().await.ok()?;
    Some((Arc::new(running), report))
}

/// The history of each item in a running proxy of this config; `None` if there is none.
pub(super) fn histories_of_running(query: &Query<'_>) -> Result<Option<SurfaceReport>, CommandFailure> {
    setup::runtime()?.block_on(async {
        let Some(running) = running::serving(query).await else { return Ok(None) };
        query.say_running(running.pid);
        running.report_with_histories().await.map(Some)
    })
}

/// The state of each server in a running proxy of this config, by name; `None` if there is none.
pub(super) fn states_of_running(query: &Query<'_>) -> Result<Option<Vec<ServerStatus>>, CommandFailure> {
    setup::runtime()?.block_on(async {
        let Some(running) = running::serving(query).await else { return Ok(None) };
        query.say_running(running.pid);
        running.status().await.map(|status| Some(status.servers))
    })
}

/// The state of each server: as the running proxy sees it, or else the last known one. Servers that are not known are
/// started, or all, and waited for.
pub(super) fn server_states(query: &Query<'_>) -> Result<Vec<ServerStatus>, CommandFailure> {
    setup::runtime()?.block_on(async {
        if let Some(running) = running::serving(query).await {
            query.say_running(running.pid);
            return running.status().await.map(|status| status.servers);
        }
        let options = local::options(query)?;
        let config = values::config(query)?;
        let gateway = Gateway::start(&config, &options).map_err(CommandFailure::config)?;
        spinner::with(&local::starting(&gateway, query.start), gateway.servers_settled()).await;
        output::diagnostics(&gateway.extension_problems());
        let servers = gateway.snapshot().backends.iter().map(|backend| backend.server_status()).collect();
        query.say(local::lists_from(&gateway));
        gateway.stop().await;
        Ok(servers)
    })
}

/// Fails if there are servers and none of them is ready or known. The list of servers has already been printed.
pub(super) fn unless_all_failed(servers: &[ServerStatus]) -> Result<(), CommandFailure> {
    let mut servers = servers.iter().filter(|server| server.kind != "extension").peekable();
    let is_usable = |server: &ServerStatus| match server.status.as_str() {
        "ready" | "starting" | "per person" => true,
        "cached" | "resting" => server.error.is_empty(),
        _ => false,
    };
    let failed = servers.peek().is_some() && !servers.any(is_usable);
    if failed { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
}

/// The operation failed with this message.
fn failed(message: impl Into<String>) -> CommandFailure {
    CommandFailure::failed(Diagnostic::error(message))
}
