//! The surface, made again whenever the catalog changes. A run that fails leaves the old surface in place.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::catalog::Snapshot;
use crate::diagnostic::Diagnostic;
use crate::model::Status;
use crate::session::{BuildError, Recipe, Surface};

/// Servers that are not there by then arrive later; the first clients do not wait for them.
const FIRST_RUN: Duration = Duration::from_secs(2);
/// Changes this close together are one.
const SETTLE: Duration = Duration::from_millis(20);

/// Where the surface stands.
#[derive(Clone, Debug, Default)]
pub struct Current {
    /// The last good one.
    pub surface: Option<Arc<Surface>>,
    /// Why the last run failed, if it did.
    pub error: Option<Arc<BuildError>>,
    /// The snapshot of the last run.
    pub snapshot: u64,
}

/// Runs until nobody looks at the surface any more.
pub(super) async fn keep(recipe: Recipe, mut catalog: watch::Receiver<Arc<Snapshot>>, current: watch::Sender<Current>) {
    let recipe = Arc::new(recipe);
    let deadline = tokio::time::sleep(FIRST_RUN);
    tokio::pin!(deadline);
    let mut provisional = true;
    loop {
        let snapshot = Arc::clone(&catalog.borrow_and_update());
        if !provisional || snapshot.is_settled() {
            // Lists from the cache may be old: what fails on them may work on the real ones.
            let waiting = provisional && snapshot.backends.iter().any(|backend| backend.status == Status::Cached);
            run(&recipe, snapshot, &current, waiting).await;
            provisional = waiting && current.borrow().surface.is_none();
        }
        tokio::select! {
            changed = catalog.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(SETTLE).await;
            }
            () = &mut deadline, if provisional => provisional = false,
            () = current.closed() => return,
        }
    }
}

async fn run(recipe: &Arc<Recipe>, snapshot: Arc<Snapshot>, current: &watch::Sender<Current>, provisional: bool) {
    let version = snapshot.version;
    let job = Arc::clone(recipe);
    let built = match tokio::task::spawn_blocking(move || job.build(&snapshot)).await {
        Ok(built) => built,
        Err(error) => Err(Diagnostic::error(format!("the session script broke down: {error}")).into()),
    };
    match built {
        Ok(surface) => {
            for warning in &surface.warnings {
                tracing::debug!("{warning}");
            }
            current.send_modify(|current| {
                *current = Current { surface: Some(Arc::new(surface)), error: None, snapshot: version };
            });
        }
        Err(_) if provisional => {}
        Err(error) => {
            if current.borrow().surface.is_some() {
                tracing::error!("the session script failed, so the old surface stays:\n{error}");
            }
            current.send_modify(|current| {
                current.error = Some(Arc::new(error));
                current.snapshot = version;
            });
        }
    }
}
