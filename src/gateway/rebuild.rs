//! The surface, made again whenever the catalog or the script changes. A run that fails leaves the old surface in place,
//! and the last script that worked goes on serving.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::diagnostic::Diagnostic;
use crate::model::Snapshot;
use crate::model::Status;
use crate::surface::{BuildError, ScriptSource, Surface};

/// Servers that are not there by then arrive later; the first clients do not wait for them.
const FIRST_RUN: Duration = Duration::from_secs(2);
/// Changes this close together are one.
const SETTLE: Duration = Duration::from_millis(20);

/// A script to run, and the set of backends that it is meant for.
#[derive(Clone, Debug, Default)]
pub(super) struct Edition {
    pub(super) number: u64,
    pub(super) script_source: Option<Arc<ScriptSource>>,
    pub(super) generation: u64,
}

/// Where the surface stands.
#[derive(Clone, Debug, Default)]
pub struct Current {
    /// The last good one.
    pub surface: Option<Arc<Surface>>,
    /// Why the last run failed, if it did.
    pub error: Option<Arc<BuildError>>,
    /// The snapshot of the last run.
    pub snapshot: u64,
    /// The script of the last run, by its number.
    pub edition: u64,
    /// The set of backends of the last run.
    pub generation: u64,
}

/// Runs until nobody looks at the surface any more.
pub(super) async fn keep(
    mut editions: watch::Receiver<Edition>,
    mut catalog: watch::Receiver<Arc<Snapshot>>,
    current: watch::Sender<Current>,
) {
    let deadline = tokio::time::sleep(FIRST_RUN);
    tokio::pin!(deadline);
    let (mut provisional, mut generation) = (true, 0);
    let mut keeper = Keeper { current, good: None };
    loop {
        let edition = editions.borrow_and_update().clone();
        let snapshot = Arc::clone(&catalog.borrow_and_update());
        if edition.generation > generation {
            (generation, provisional) = (edition.generation, true);
            deadline.as_mut().reset(Instant::now() + FIRST_RUN);
        }
        if snapshot.generation >= generation && (!provisional || snapshot.is_settled()) {
            // Lists from the cache may be old: what fails on them may work on the real ones.
            let waiting = provisional && snapshot.backends.iter().any(|backend| backend.status == Status::Cached);
            provisional = !keeper.run(edition, snapshot, waiting).await && waiting;
        }
        tokio::select! {
            changed = catalog.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(SETTLE).await;
            }
            changed = editions.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = &mut deadline, if provisional => provisional = false,
            () = keeper.current.closed() => return,
        }
    }
}

struct Keeper {
    current: watch::Sender<Current>,
    /// The last script that worked.
    good: Option<Arc<ScriptSource>>,
}

impl Keeper {
    /// Whether the script ran to its end. If it is `waiting` for better times, a failure is not told.
    async fn run(&mut self, edition: Edition, snapshot: Arc<Snapshot>, waiting: bool) -> bool {
        let Some(script_source) = edition.script_source else { return false };
        let ran = |surface, error| Current {
            surface,
            error,
            snapshot: snapshot.version,
            edition: edition.number,
            generation: snapshot.generation,
        };
        match build(&script_source, &snapshot).await {
            Ok(surface) => {
                self.good = Some(script_source);
                self.current.send_replace(ran(Some(surface), None));
                true
            }
            Err(_) if waiting => false,
            Err(error) => {
                let stays = self.old_script(&script_source, &snapshot).await;
                if stays.is_some() {
                    tracing::error!("the session script failed, so the old surface stays:\n{error}");
                }
                self.current.send_replace(ran(stays, Some(Arc::new(error))));
                false
            }
        }
    }

    /// What is served while a script does not work: what the last one that did makes of it, or what it made last.
    async fn old_script(&self, failing: &Arc<ScriptSource>, snapshot: &Arc<Snapshot>) -> Option<Arc<Surface>> {
        let old = self.current.borrow().surface.clone();
        match &self.good {
            Some(good) if !Arc::ptr_eq(good, failing) => build(good, snapshot).await.ok().or(old),
            _ => old,
        }
    }
}

async fn build(script_source: &Arc<ScriptSource>, snapshot: &Arc<Snapshot>) -> Result<Arc<Surface>, BuildError> {
    let (script_source, snapshot) = (Arc::clone(script_source), Arc::clone(snapshot));
    let built = match tokio::task::spawn_blocking(move || script_source.build(&snapshot)).await {
        Ok(built) => built,
        Err(error) => Err(Diagnostic::error(format!("the session script broke down: {error}")).into()),
    };
    let surface = built?;
    for warning in &surface.warnings {
        tracing::debug!("{warning}");
    }
    Ok(Arc::new(surface))
}
