//! Answers from this process, which starts the servers without cached lists and those that a call needs.

use std::sync::Arc;

use super::{ActingUser, Query, values};
use crate::admin::Operator;
use crate::cli::age::ago;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, LoadedConfig};
use crate::cli::{output, spinner, terminal};
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::Handler;
use proxy_code_mode::sandbox::Workers;
use proxy_config::Config;
use proxy_engine::gateway::{Gateway, GatewayOptions, SurfaceHandle};
use proxy_engine::surface::Surface;
use proxy_mcp_client::{Peer, StartPolicy};
use proxy_model::{BackendView, CallSource, ClientProfile, ItemKind, ItemRef, Status, SurfaceKey};

/// Runs `work` with all servers of a config and with the surface of a client on stdio, or of this user.
pub(in crate::cli) fn with_loaded<T>(
    loaded: &LoadedConfig,
    user: ActingUser,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let query = Query { start: StartPolicy::All, user, ..Query::of_config(loaded) };
    setup::runtime()?.block_on(run(&query, async |operator| work(&operator.gateway, operator.surface).await))
}

/// Starts what the query needs, runs `work`, and stops the servers.
pub(super) async fn run<T>(
    query: &Query<'_>,
    work: impl AsyncFnOnce(Operator) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    if query.runs_code {
        Workers::shared().warm_up();
    }
    let config = values::config(query)?;
    let gateway = Arc::new(Gateway::start(&config, &options(query)?).map_err(CommandFailure::config)?);
    // Only commands that call something write audit lines.
    let audit = config.audit.as_ref().filter(|_| query.runs_code || query.wanted.is_some());
    let audited = audit.map_or(Ok(()), |audit| gateway.start_audit(audit, false)).map_err(CommandFailure::failed);
    let surface = match audited {
        Ok(()) => surface(&gateway, query).await,
        Err(failure) => Err(failure),
    };
    let outcome = match surface {
        Ok(surface) => {
            output::diagnostics(&missing_tools(&config, &surface));
            let peer = terminal::user().map(|user| user as Arc<dyn Peer>);
            let (principal, source) = (query.user.principal.clone(), CallSource::Control);
            let uid = Some(rustix::process::getuid().as_raw());
            work(Operator { gateway: Arc::clone(&gateway), surface, principal, peer, source, uid }).await
        }
        Err(failure) => Err(failure),
    };
    gateway.stop().await;
    outcome
}

pub(super) fn options(query: &Query<'_>) -> Result<GatewayOptions, CommandFailure> {
    Ok(GatewayOptions {
        client: Some(terminal::client()),
        start: query.start,
        search_by_meaning: query.search_by_meaning,
        first_user: Some(query.user.principal.clone()),
        ..setup::options(query.loaded.bundled)?
    })
}

/// The surface of the user, once the servers that it needs are up or have failed.
async fn surface(gateway: &Arc<Gateway>, query: &Query<'_>) -> Result<Arc<Surface>, CommandFailure> {
    let settled = spinner::with(&starting(gateway, query.start), gateway.offering(query.wanted)).await;
    let mut shared = settled.map_err(|error| CommandFailure::from(error.as_ref()).with_note(lists_from(gateway)))?;
    match query.wanted.and_then(|wanted| resting_origin(gateway, &shared, wanted)) {
        Some(origin) => shared = woken(gateway, query, &origin).await?,
        None => query.say(lists_from(gateway)),
    }
    let own = SurfaceKey::of(query.user.principal.clone(), Arc::default());
    let own = SurfaceHandle::of(own, ClientProfile::TERMINAL);
    let is_own = shared.personal().is_some() || gateway.has_policies();
    let own = if is_own { gateway.surface(&own).await } else { Ok(shared) };
    own.map_err(|error| CommandFailure::from(error.as_ref()))
}

/// A warning for each name in `--tools` that matches no published tool.
fn missing_tools(config: &Config, surface: &Surface) -> Vec<Diagnostic> {
    let is_missing = |pattern: &&glob::Pattern| !surface.tools().any(|entry| pattern.matches(entry.definition.key()));
    let missing = config.only_tools.iter().filter(is_missing);
    missing.map(|pattern| Diagnostic::warning(format!("`--tools`: no tool `{pattern}` is published"))).collect()
}

/// Starts the server of an item that is known from the cache only. Fails if the server no longer offers the item.
async fn woken(gateway: &Arc<Gateway>, query: &Query<'_>, origin: &ItemRef) -> Result<Arc<Surface>, CommandFailure> {
    let server = &origin.backend;
    let age = lists_from(gateway);
    let label = format!("starting {server}");
    let surface = spinner::with(&label, gateway.woken(server)).await;
    let surface = surface.map_err(|error| CommandFailure::from(error.as_ref()))?;
    let view = gateway.snapshot().backend(server).cloned();
    let is_ready = view.as_ref().is_some_and(|view| view.status == Status::Ready);
    let item = query.wanted.and_then(|(kind, key)| surface.find(kind, key));
    let is_forwarded = item.is_some_and(|item| matches!(item.handler, Handler::Backend(_)));
    if let Some(problem) = view.filter(|_| !is_ready && is_forwarded).and_then(|view| view.problem()) {
        // The call's own error would lack the last stderr lines of the process.
        return Err(CommandFailure::failed(Diagnostic::error(problem)));
    }
    query.say(is_ready.then(|| format!("from `{server}`, started for this command")));
    if let Some((kind, key)) = query.wanted.filter(|_| is_ready && item.is_none()) {
        let message = format!("server `{server}` no longer offers the {} `{key}`", kind.noun());
        let hint = format!("`proxy list-{}s` lists what it offers now", kind.noun());
        let failure = CommandFailure::failed(Diagnostic::error(message).hint(hint));
        return Err(failure.with_note(age));
    }
    Ok(surface)
}

/// The server item behind a published item, if its server was not started.
fn resting_origin(gateway: &Gateway, surface: &Surface, (kind, key): (ItemKind, &str)) -> Option<ItemRef> {
    let origin = surface.find(kind, key)?.origin.clone()?;
    let snapshot = gateway.snapshot();
    snapshot.backend(&origin.backend).is_some_and(|view| rests(view)).then_some(origin)
}

/// Whether a server was not started because its lists are cached.
fn rests(backend: &BackendView) -> bool {
    backend.status == Status::Cached && backend.error.is_empty()
}

/// The age of the cached lists that were used instead of starting servers; `None` if every server was started.
pub(super) fn lists_from(gateway: &Gateway) -> Option<String> {
    let snapshot = gateway.snapshot();
    let resting = snapshot.backends.iter().filter(|backend| rests(backend));
    let oldest = resting.map(|backend| backend.last_known.as_ref().and_then(|known| known.seen)).min()?;
    Some(match oldest {
        Some(seen) => format!("from lists cached {}; --live starts the servers", ago(seen)),
        None => "from the last known lists; --live starts the servers".to_owned(),
    })
}

/// The label of the spinner while servers start, or while the script runs over cached lists.
pub(super) fn starting(gateway: &Gateway, start: StartPolicy) -> String {
    let snapshot = gateway.snapshot();
    let waits = |view: &&Arc<BackendView>| view.status != Status::Ready && (start == StartPolicy::All || !rests(view));
    let names: Vec<&str> = snapshot.backends.iter().filter(waits).map(|view| view.name.as_ref()).collect();
    if names.is_empty() { "running the session script".to_owned() } else { format!("starting {}", names.join(", ")) }
}
