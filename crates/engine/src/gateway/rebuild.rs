//! Rebuilds the shared surface whenever the catalog or the script changes. After a failed run the last script that
//! worked keeps serving.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::arrival_order::ArrivalOrder;
use super::telemetry::audit_surface;
use crate::surface::{BuildError, ScriptSource, Surface};
use proxy_base::diagnostic::Diagnostic;
use proxy_mcp_client::{Environment, StartPolicy};
use proxy_model::{Snapshot, Status};
use proxy_telemetry::{ProxyStats, Telemetry};

/// Maximum time the first run waits for servers. Later runs add the servers that start later. List requests wait longer,
/// but the items that are there can be called.
pub(super) const FIRST_RUN_TIMEOUT: Duration = Duration::from_secs(2);
/// Delay after a change of the catalog, so that one run covers several changes.
const DEBOUNCE: Duration = Duration::from_millis(20);

/// A numbered version of the script, and the generation of backends that it is meant for.
#[derive(Clone, Debug, Default)]
pub(super) struct Edition {
    pub(super) number: u64,
    pub(super) script_source: Option<Arc<ScriptSource>>,
    /// The scripts of the profiles.
    pub(super) profiles: ProfileScripts,
    pub(super) generation: u64,
}

/// The script of each profile, by its name.
pub(super) type ProfileScripts = Arc<HashMap<Arc<str>, Arc<ScriptSource>>>;

impl Edition {
    /// All scripts: that of the top level, and those of the profiles.
    pub(super) fn scripts(&self) -> impl Iterator<Item = &Arc<ScriptSource>> {
        self.script_source.iter().chain(self.profiles.values())
    }

    /// The same with the script of a profile. `None` if there is no such profile.
    fn of_profile(mut self, profile: Option<&Arc<str>>) -> Option<Self> {
        if profile.is_some() {
            self.script_source = Some(Arc::clone(self.script_of(profile)?));
        }
        Some(self)
    }

    /// The script of a profile, or of the top level.
    pub(super) fn script_of(&self, profile: Option<&Arc<str>>) -> Option<&Arc<ScriptSource>> {
        match profile {
            Some(profile) => self.profiles.get(profile),
            None => self.script_source.as_ref(),
        }
    }

    /// Whether clients of a profile, or of the top level, may see something of a server.
    pub(super) fn shows(&self, profile: Option<&Arc<str>>, server: &str) -> bool {
        let selection = self.script_of(profile).and_then(|script| script.selection.as_ref());
        selection.is_none_or(|selection| selection.shows(server))
    }

    /// What the script sees of a snapshot.
    fn shown(&self, snapshot: &Arc<Snapshot>) -> Arc<Snapshot> {
        match &self.script_source {
            Some(script_source) => script_source.shown(snapshot),
            None => Arc::clone(snapshot),
        }
    }
}

/// The shared surface and the outcome of the last run of the script.
#[derive(Clone, Debug, Default)]
pub struct SharedSurface {
    /// The last surface that was built without an error.
    pub surface: Option<Arc<Surface>>,
    /// The script that built it.
    pub script: Option<Arc<ScriptSource>>,
    /// The error of the last run, if it failed.
    pub error: Option<Arc<BuildError>>,
    /// The version of the snapshot that the last run used.
    pub snapshot: u64,
    /// The number of the script edition of the last run.
    pub edition: u64,
    /// The generation of backends of the last run.
    pub generation: u64,
    /// Whether list requests are answered. At startup they wait for servers without known lists (`serve.firstList`).
    pub has_first_lists: bool,
    /// Whether a server without known lists is still starting.
    pub is_starting: bool,
}

/// What a shared surface is built from.
pub(super) struct Rebuilding {
    /// `None` for the top level.
    pub(super) profile: Option<Arc<str>>,
    pub(super) editions: watch::Receiver<Edition>,
    pub(super) catalog: watch::Receiver<Arc<Snapshot>>,
    /// How long the first list requests wait for servers without known lists.
    pub(super) first_list: Duration,
    pub(super) environment: Environment,
    /// Cancelled when lists are answered.
    pub(super) lists_answered: CancellationToken,
    pub(super) telemetry: Arc<Telemetry>,
}

/// Rebuilds the surface after every change, until the receivers of `current` or the senders of its inputs are dropped, or
/// the profile was removed.
pub(super) async fn rebuild_on_change(inputs: Rebuilding, current: watch::Sender<SharedSurface>) {
    let Rebuilding { profile, mut editions, mut catalog, first_list, environment, lists_answered, telemetry } = inputs;
    let mut first_run = std::pin::pin!(tokio::time::sleep(FIRST_RUN_TIMEOUT.min(first_list)));
    let mut brief_wait = std::pin::pin!(tokio::time::sleep(FIRST_RUN_TIMEOUT.min(first_list)));
    let mut first_lists = std::pin::pin!(tokio::time::sleep(first_list));
    let (mut provisional, mut generation) = (true, 0);
    let mut builder = SurfaceBuilder::new(current, telemetry, lists_answered);
    let mut due = true;
    loop {
        if due {
            let newest = editions.borrow_and_update().clone();
            let Some(edition) = newest.of_profile(profile.as_ref()) else { return };
            let snapshot = edition.shown(&catalog.borrow_and_update());
            if edition.generation > generation {
                if generation > 0 {
                    first_run.as_mut().reset(Instant::now() + FIRST_RUN_TIMEOUT);
                }
                (generation, provisional) = (edition.generation, true);
            }
            if snapshot.generation >= generation && (!provisional || snapshot.is_settled_but_for_doubtful()) {
                let awaited = awaited(&snapshot, provisional && environment.start != StartPolicy::Unknown);
                provisional &= !builder.run(edition, snapshot, awaited).await && awaited.is_some();
            }
        }
        due = tokio::select! {
            changed = catalog.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(DEBOUNCE).await;
                true
            }
            changed = editions.changed() => {
                if changed.is_err() {
                    return;
                }
                true
            }
            // Servers that wait for the only client cannot be ready.
            () = &mut first_run, if provisional => match environment.audience.is_awaited() {
                true => {
                    first_run.as_mut().reset(Instant::now() + FIRST_RUN_TIMEOUT);
                    false
                }
                false => {
                    provisional = false;
                    true
                }
            },
            () = &mut brief_wait, if !builder.brief_wait_is_over => {
                match environment.audience.is_awaited() {
                    true => brief_wait.as_mut().reset(Instant::now() + FIRST_RUN_TIMEOUT),
                    false => {
                        let newest = editions.borrow().clone();
                        let Some(edition) = newest.of_profile(profile.as_ref()) else { return };
                        let snapshot = edition.shown(&catalog.borrow());
                        builder.end_brief_wait(&snapshot);
                    }
                }
                false
            }
            () = &mut first_lists, if !builder.lists_are_due => {
                builder.end_wait_for_lists();
                false
            }
            () = builder.current.closed() => return,
        };
    }
}

/// Servers on which a script that fails now may still succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// Nothing is known about a server that is starting.
    Unknown,
    /// The cached lists of a server may be outdated.
    Cached,
}

/// The servers that a failed run waits for. Servers that are known from the cache are only waited for at first, and not if
/// they rest.
fn awaited(snapshot: &Snapshot, awaits_cached: bool) -> Option<Awaited> {
    let is_cached = || snapshot.backends.iter().any(|backend| backend.status == Status::Cached);
    match snapshot.is_settled() {
        false => Some(Awaited::Unknown),
        true => (awaits_cached && is_cached()).then_some(Awaited::Cached),
    }
}

struct SurfaceBuilder {
    current: watch::Sender<SharedSurface>,
    telemetry: Arc<Telemetry>,
    /// The last script that ran without an error.
    last_good: Option<Arc<ScriptSource>>,
    order: ArrivalOrder,
    /// What the last surface was built from.
    published: Arc<Snapshot>,
    /// Whether lists no longer wait for servers that did not start the last time either.
    brief_wait_is_over: bool,
    /// Whether list requests no longer wait for servers without known lists.
    lists_are_due: bool,
    /// Cancelled when lists are answered.
    lists_answered: CancellationToken,
    /// The last failure that was logged while servers were awaited.
    last_warning: Option<String>,
}

impl SurfaceBuilder {
    fn new(
        current: watch::Sender<SharedSurface>,
        telemetry: Arc<Telemetry>,
        lists_answered: CancellationToken,
    ) -> Self {
        SurfaceBuilder {
            current,
            telemetry,
            last_good: None,
            order: ArrivalOrder::default(),
            published: Arc::default(),
            brief_wait_is_over: false,
            lists_are_due: false,
            lists_answered,
            last_warning: None,
        }
    }

    /// Lets the lists be answered unless they wait for servers that may well start.
    fn end_brief_wait(&mut self, snapshot: &Snapshot) {
        self.brief_wait_is_over = true;
        if !self.lists_are_due && snapshot.is_settled_but_for_doubtful() {
            self.end_wait_for_lists();
        }
    }

    /// Whether no server of a snapshot is worth waiting for any longer.
    fn has_all(&self, snapshot: &Snapshot) -> bool {
        snapshot.is_settled() || (self.brief_wait_is_over && snapshot.is_settled_but_for_doubtful())
    }

    /// Lets the lists be answered as they are. Without a surface they wait for the first one.
    fn end_wait_for_lists(&mut self) {
        self.lists_are_due = true;
        self.lists_answered.cancel();
        self.order.record(&self.published);
        self.current.send_if_modified(|now| {
            now.has_first_lists = now.surface.is_some();
            now.has_first_lists
        });
    }

    /// Runs the script, publishes the outcome, and returns whether it succeeded. While servers are `awaited`, a
    /// failure is not published.
    async fn run(&mut self, edition: Edition, snapshot: Arc<Snapshot>, awaited: Option<Awaited>) -> bool {
        let Some(script_source) = edition.script_source else { return false };
        if self.has_all(&snapshot) {
            self.lists_are_due = true;
            self.lists_answered.cancel();
        }
        let snapshot = self.order.sorted(&snapshot);
        let has_first_lists = self.lists_are_due;
        let outcome = |surface, script, error| SharedSurface {
            surface,
            script,
            error,
            snapshot: snapshot.version,
            edition: edition.number,
            generation: snapshot.generation,
            has_first_lists,
            is_starting: !snapshot.is_settled(),
        };
        match (build(&script_source, &snapshot, self.telemetry.proxy()).await, awaited) {
            (Ok(surface), _) => {
                if has_first_lists {
                    self.order.record(&snapshot);
                }
                self.published = Arc::clone(&snapshot);
                self.last_good = Some(Arc::clone(&script_source));
                // What depends on the client is written when it is made for one.
                if surface.personal().is_none() {
                    audit_surface(&self.telemetry, &surface);
                }
                self.current.send_replace(outcome(Some(surface), Some(script_source), None));
                true
            }
            (Err(error), Some(awaited)) => {
                if awaited == Awaited::Unknown {
                    self.warn(&error);
                }
                false
            }
            (Err(error), None) => {
                let fallback = self.fallback(&script_source, &snapshot).await;
                if fallback.is_some() {
                    tracing::error!("the session script failed, so the old surface stays:\n{error}");
                }
                let script = self.last_good.clone();
                self.current.send_replace(outcome(fallback, script, Some(Arc::new(error))));
                false
            }
        }
    }

    /// Logs a failure that the next server may remedy; the same failure only once.
    fn warn(&mut self, error: &BuildError) {
        let text = error.to_string();
        if self.last_warning.as_ref() != Some(&text) {
            tracing::warn!(
                "the session script failed; it runs again when a server that is still starting becomes ready:\n{text}"
            );
            self.last_warning = Some(text);
        }
    }

    /// The surface to serve after a failure: the last good script run on this snapshot, or else the old surface.
    async fn fallback(&self, failing: &Arc<ScriptSource>, snapshot: &Arc<Snapshot>) -> Option<Arc<Surface>> {
        let old = self.current.borrow().surface.clone();
        match &self.last_good {
            Some(good) if !Arc::ptr_eq(good, failing) => {
                build(good, snapshot, self.telemetry.proxy()).await.ok().or(old)
            }
            _ => old,
        }
    }
}

async fn build(
    script_source: &Arc<ScriptSource>,
    snapshot: &Arc<Snapshot>,
    stats: &ProxyStats,
) -> Result<Arc<Surface>, BuildError> {
    let (script_source, snapshot) = (Arc::clone(script_source), Arc::clone(snapshot));
    let began = Instant::now();
    let built = match tokio::task::spawn_blocking(move || script_source.build(&snapshot)).await {
        Ok(built) => built,
        Err(error) => Err(Diagnostic::error(format!("the session script crashed: {error}")).into()),
    };
    stats.surface_built(began.elapsed());
    let surface = Arc::new(built?);
    surface.log_schema_faults();
    for warning in &surface.warnings {
        tracing::debug!("{warning}");
    }
    Ok(surface)
}
