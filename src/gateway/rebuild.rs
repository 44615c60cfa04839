//! Rebuilds the shared surface whenever the catalog or the script changes. After a failed run the last script that
//! worked keeps serving.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::backend::Audience;
use crate::diagnostic::Diagnostic;
use crate::model::Snapshot;
use crate::model::Status;
use crate::surface::{BuildError, ScriptSource, Surface};

/// Maximum time the first run waits for servers. Servers that start later are added by another run.
const FIRST_RUN_TIMEOUT: Duration = Duration::from_secs(2);
/// Delay after a change of the catalog, so that one run covers several changes.
const DEBOUNCE: Duration = Duration::from_millis(20);

/// A numbered version of the script, and the generation of backends that it is meant for.
#[derive(Clone, Debug, Default)]
pub(super) struct Edition {
    pub(super) number: u64,
    pub(super) script_source: Option<Arc<ScriptSource>>,
    pub(super) generation: u64,
}

/// The shared surface and the outcome of the last run of the script.
#[derive(Clone, Debug, Default)]
pub struct SharedSurface {
    /// The last surface that was built without an error.
    pub surface: Option<Arc<Surface>>,
    /// The error of the last run, if it failed.
    pub error: Option<Arc<BuildError>>,
    /// The version of the snapshot that the last run used.
    pub snapshot: u64,
    /// The number of the script edition of the last run.
    pub edition: u64,
    /// The generation of backends of the last run.
    pub generation: u64,
}

/// Rebuilds the surface after every change, until the receivers of `current` or the senders of its inputs are dropped.
pub(super) async fn rebuild_on_change(
    mut editions: watch::Receiver<Edition>,
    mut catalog: watch::Receiver<Arc<Snapshot>>,
    current: watch::Sender<SharedSurface>,
    audience: Audience,
) {
    let deadline = tokio::time::sleep(FIRST_RUN_TIMEOUT);
    tokio::pin!(deadline);
    let (mut provisional, mut generation) = (true, 0);
    let mut builder = SurfaceBuilder { current, last_good: None };
    loop {
        let edition = editions.borrow_and_update().clone();
        let snapshot = Arc::clone(&catalog.borrow_and_update());
        if edition.generation > generation {
            (generation, provisional) = (edition.generation, true);
            deadline.as_mut().reset(Instant::now() + FIRST_RUN_TIMEOUT);
        }
        if snapshot.generation >= generation && (!provisional || snapshot.is_settled()) {
            // Cached lists may be outdated: a script that fails on them may succeed on the lists of the servers.
            let awaited = provisional && snapshot.backends.iter().any(|backend| backend.status == Status::Cached);
            provisional = !builder.run(edition, snapshot, awaited).await && awaited;
        }
        tokio::select! {
            changed = catalog.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(DEBOUNCE).await;
            }
            changed = editions.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            // Servers that wait for the only client cannot be ready.
            () = &mut deadline, if provisional => match audience.is_awaited() {
                true => deadline.as_mut().reset(Instant::now() + FIRST_RUN_TIMEOUT),
                false => provisional = false,
            },
            () = builder.current.closed() => return,
        }
    }
}

struct SurfaceBuilder {
    current: watch::Sender<SharedSurface>,
    /// The last script that ran without an error.
    last_good: Option<Arc<ScriptSource>>,
}

impl SurfaceBuilder {
    /// Runs the script, publishes the outcome, and returns whether it succeeded. While servers are `awaited`, a
    /// failure is not published.
    async fn run(&mut self, edition: Edition, snapshot: Arc<Snapshot>, awaited: bool) -> bool {
        let Some(script_source) = edition.script_source else { return false };
        let outcome = |surface, error| SharedSurface {
            surface,
            error,
            snapshot: snapshot.version,
            edition: edition.number,
            generation: snapshot.generation,
        };
        match build(&script_source, &snapshot).await {
            Ok(surface) => {
                self.last_good = Some(script_source);
                self.current.send_replace(outcome(Some(surface), None));
                true
            }
            Err(_) if awaited => false,
            Err(error) => {
                let fallback = self.fallback(&script_source, &snapshot).await;
                if fallback.is_some() {
                    tracing::error!("the session script failed, so the old surface stays:\n{error}");
                }
                self.current.send_replace(outcome(fallback, Some(Arc::new(error))));
                false
            }
        }
    }

    /// The surface to serve after a failure: the last good script run on this snapshot, or else the old surface.
    async fn fallback(&self, failing: &Arc<ScriptSource>, snapshot: &Arc<Snapshot>) -> Option<Arc<Surface>> {
        let old = self.current.borrow().surface.clone();
        match &self.last_good {
            Some(good) if !Arc::ptr_eq(good, failing) => build(good, snapshot).await.ok().or(old),
            _ => old,
        }
    }
}

async fn build(script_source: &Arc<ScriptSource>, snapshot: &Arc<Snapshot>) -> Result<Arc<Surface>, BuildError> {
    let (script_source, snapshot) = (Arc::clone(script_source), Arc::clone(snapshot));
    let built = match tokio::task::spawn_blocking(move || script_source.build(&snapshot)).await {
        Ok(built) => built,
        Err(error) => Err(Diagnostic::error(format!("the session script crashed: {error}")).into()),
    };
    let surface = built?;
    for warning in &surface.warnings {
        tracing::debug!("{warning}");
    }
    Ok(Arc::new(surface))
}
