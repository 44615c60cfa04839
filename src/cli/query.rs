//! Commands that ask once: from the last known lists where these are enough, with the servers that a call needs.

use std::sync::Arc;

use clap::Args;

use super::age::ago;
use super::failure::CommandFailure;
use super::setup::{self, LoadedConfig, SourceArgs};
use super::{output, spinner, terminal};
use crate::backend::StartPolicy;
use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Gateway, GatewayOptions, SurfaceHandle};
use crate::model::{BackendKind, BackendView, ClientProfile, ItemKind, ItemRef, Principal, Status, SurfaceKey};
use crate::server::Identity;
use crate::surface::Surface;

/// Options that select the servers and the session script, and how fresh an answer must be.
#[derive(Debug, Args)]
pub(super) struct QueryArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// Start all servers instead of using their last known lists
    #[arg(long)]
    pub(super) live: bool,
}

impl QueryArgs {
    fn start(&self) -> StartPolicy {
        if self.live { StartPolicy::All } else { StartPolicy::Unknown }
    }
}

/// What a command asks of a config.
pub(super) struct Query<'a> {
    pub(super) loaded: &'a LoadedConfig,
    pub(super) start: StartPolicy,
    /// The user whose surface it is. The session script runs for nobody else.
    pub(super) user: Principal,
    /// The only item that matters: servers that cannot offer it are not waited for, its own is started.
    pub(super) wanted: Option<(ItemKind, &'a str)>,
    /// Whether to say where the answer comes from, on a terminal.
    pub(super) status_line: bool,
}

/// Starts the servers that are not known, or all, waits until each is up or has failed, and returns the state of each.
pub(super) fn server_states(args: &QueryArgs) -> Result<Vec<Arc<BackendView>>, CommandFailure> {
    let loaded = args.source.load()?;
    let options = options(&loaded, args.start())?;
    setup::runtime()?.block_on(async {
        let gateway = Gateway::start(&loaded.config, &options).map_err(CommandFailure::config)?;
        spinner::with(&starting(&gateway, args.start()), gateway.servers_settled()).await;
        output::diagnostics(&gateway.extension_problems());
        let backends = gateway.snapshot().backends.clone();
        gateway.stop().await;
        Ok(backends)
    })
}

/// Loads the config and runs `work` with the surface that a client on stdio would see.
pub(super) fn with_gateway<T>(
    args: &QueryArgs,
    status_line: bool,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let loaded = args.source.load()?;
    let user = Identity::local_user(&setup::variables());
    run(Query { loaded: &loaded, start: args.start(), user, wanted: None, status_line }, work)
}

/// Runs `work` with the surface of a client on stdio and with all servers of a config.
pub(super) fn with_loaded<T>(
    loaded: &LoadedConfig,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let user = Identity::local_user(&setup::variables());
    run(Query { loaded, start: StartPolicy::All, user, wanted: None, status_line: false }, work)
}

/// Uses one item as a user.
pub(super) fn with_item<T>(
    args: &QueryArgs,
    (loaded, user): (&LoadedConfig, Principal),
    wanted: (ItemKind, &str),
    status_line: bool,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    run(Query { loaded, start: args.start(), user, wanted: Some(wanted), status_line }, work)
}

/// Starts what the query needs, runs `work`, and stops the servers.
pub(super) fn run<T>(
    query: Query<'_>,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let options = GatewayOptions { first_user: Some(query.user.clone()), ..options(query.loaded, query.start)? };
    setup::runtime()?.block_on(async {
        let gateway = Arc::new(Gateway::start(&query.loaded.config, &options).map_err(CommandFailure::config)?);
        let outcome = match surface(&gateway, &query).await {
            Ok(surface) => {
                output::diagnostics(&missing_tools(&query.loaded.config, &surface));
                work(&gateway, surface).await
            }
            Err(failure) => Err(failure),
        };
        gateway.stop().await;
        outcome
    })
}

fn options(loaded: &LoadedConfig, start: StartPolicy) -> Result<GatewayOptions, CommandFailure> {
    Ok(GatewayOptions { client: Some(terminal::client()), start, ..setup::options(loaded.bundled)? })
}

/// The surface of the user, once the servers that it needs are up or have failed.
async fn surface(gateway: &Arc<Gateway>, query: &Query<'_>) -> Result<Arc<Surface>, CommandFailure> {
    let settled = spinner::with(&starting(gateway, query.start), gateway.offering(query.wanted)).await;
    let mut shared = settled.map_err(|error| CommandFailure::from(error.as_ref()).with_note(lists_from(gateway)))?;
    match query.wanted.and_then(|wanted| resting_origin(gateway, &shared, wanted)) {
        Some(origin) => shared = woken(gateway, query, &origin).await?,
        None => say(query, lists_from(gateway)),
    }
    let own = SurfaceKey { principal: query.user.clone(), client: Arc::default() };
    let own = SurfaceHandle::of(own, ClientProfile::TERMINAL);
    let own = if shared.personal().is_some() { gateway.surface(&own).await } else { Ok(shared) };
    own.map_err(|error| CommandFailure::from(error.as_ref()))
}

/// A warning for each name of `--tools` that no published tool has.
fn missing_tools(config: &Config, surface: &Surface) -> Vec<Diagnostic> {
    let is_missing = |pattern: &&glob::Pattern| !surface.tools().any(|entry| pattern.matches(entry.definition.key()));
    let missing = config.only_tools.iter().filter(is_missing);
    missing.map(|pattern| Diagnostic::warning(format!("`--tools`: no tool `{pattern}` is published"))).collect()
}

/// Starts the server of an item that only the cache knows. Fails if the server does not offer the item any more.
async fn woken(gateway: &Arc<Gateway>, query: &Query<'_>, origin: &ItemRef) -> Result<Arc<Surface>, CommandFailure> {
    let server = &origin.backend;
    let age = lists_from(gateway);
    let label = format!("starting {server}");
    let surface = spinner::with(&label, gateway.woken(server)).await;
    let surface = surface.map_err(|error| CommandFailure::from(error.as_ref()))?;
    let is_ready = gateway.snapshot().backend(server).is_some_and(|view| view.status == Status::Ready);
    say(query, is_ready.then(|| format!("from `{server}`, started for this")));
    let gone = query.wanted.filter(|(kind, key)| is_ready && surface.find(*kind, key).is_none());
    if let Some((kind, key)) = gone {
        let message = format!("server `{server}` no longer offers the {} `{key}`", kind.noun());
        let hint = format!("`proxy list-{}s` lists what it offers now", kind.noun());
        let failure = CommandFailure::failed(Diagnostic::error(message).hint(hint));
        return Err(failure.with_note(age));
    }
    Ok(surface)
}

/// The item of a server that rests, behind a published item.
fn resting_origin(gateway: &Gateway, surface: &Surface, (kind, key): (ItemKind, &str)) -> Option<ItemRef> {
    let origin = surface.find(kind, key)?.origin.clone()?;
    let snapshot = gateway.snapshot();
    snapshot.backend(&origin.backend).is_some_and(|view| rests(view)).then_some(origin)
}

/// Whether a server was not started, because its lists are known.
fn rests(backend: &BackendView) -> bool {
    backend.status == Status::Cached && backend.error.is_empty()
}

/// How old the lists are that were used instead of starting servers; `None` if every server was started.
pub(super) fn lists_from(gateway: &Gateway) -> Option<String> {
    let snapshot = gateway.snapshot();
    let resting: Vec<_> = snapshot.backends.iter().filter(|backend| rests(backend)).collect();
    let oldest = resting.iter().map(|backend| backend.last_known.as_ref().and_then(|known| known.seen)).min()?;
    Some(match oldest {
        Some(seen) => format!("from the lists of {}; --live starts the servers", ago(seen)),
        None => "from the last known lists; --live starts the servers".to_owned(),
    })
}

fn say(query: &Query<'_>, line: Option<String>) {
    if query.status_line
        && let Some(line) = line
    {
        output::status_line(&line);
    }
}

/// What the user sees while servers start.
fn starting(gateway: &Gateway, start: StartPolicy) -> String {
    let snapshot = gateway.snapshot();
    let waits = |view: &&Arc<BackendView>| view.status != Status::Ready && (start == StartPolicy::All || !rests(view));
    let names: Vec<&str> = snapshot.backends.iter().filter(waits).map(|view| view.name.as_ref()).collect();
    if names.is_empty() { "starting".to_owned() } else { format!("starting {}", names.join(", ")) }
}

/// Fails if there are servers and none of them is ready or known. The list of servers has already been printed.
pub(super) fn unless_all_failed(backends: &[Arc<BackendView>]) -> Result<(), CommandFailure> {
    let mut servers = backends.iter().filter(|backend| backend.kind != BackendKind::Extension).peekable();
    let failed = servers.peek().is_some() && servers.all(|server| server.status != Status::Ready && !rests(server));
    if failed { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
}
