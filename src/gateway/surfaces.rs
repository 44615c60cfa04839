//! The surface of each client. If the script does not ask whom it runs for, all clients that see the same of the servers
//! share one surface; otherwise each [`SurfaceKey`] has its own. Surfaces in use are rebuilt whenever the shared one
//! changes; until then the old one serves.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, watch};

use super::rebuild::SharedSurface;
use crate::diagnostic::Diagnostic;
use crate::model::{ClientProfile, Owner, SnapshotVariant, SurfaceCacheKey, SurfaceKey};
use crate::surface::{BuildError, Surface};

/// A surface without a handle is dropped when it has not been used for this long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Maximum number of cached surfaces without a handle.
const MAX_UNHELD: usize = 1000;
/// Maximum number of concurrent script runs.
const MAX_CONCURRENT_RUNS: usize = 4;

/// The surfaces of all clients.
pub(super) struct Surfaces {
    current: watch::Receiver<SharedSurface>,
    slots: Mutex<HashMap<SlotKey, Arc<SurfaceSlot>>>,
    /// Increases whenever any surface may have changed.
    changes: watch::Sender<u64>,
    /// Limits the concurrent script runs of rebuilds and requests together.
    run_permits: Semaphore,
}

/// What distinguishes the surfaces of two clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SlotKey {
    /// What the client sees of the servers; `None` if it is what the shared surface was built from.
    variant: Option<SnapshotVariant>,
    /// Whom the script runs for; `None` if it does not ask.
    person: Option<SurfaceCacheKey>,
}

/// The surface of all clients with equal keys.
#[derive(Debug)]
pub(super) struct SurfaceSlot {
    key: SurfaceKey,
    variant: Option<SnapshotVariant>,
    state: Mutex<SlotState>,
    /// Held during a run: a second request waits and takes the surface that the first one built.
    building: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct SlotState {
    /// The last surface that was built without an error.
    surface: Option<Arc<Surface>>,
    error: Option<Arc<BuildError>>,
    /// The shared surface that this one was derived from.
    base: Option<Arc<Surface>>,
    last_used: Instant,
}

/// A client's reference to its surface. The surface stays cached while the handle exists.
#[derive(Debug)]
pub struct SurfaceHandle {
    key: SurfaceKey,
    profile: ClientProfile,
    slot: Mutex<Option<HeldSlot>>,
}

/// The slot that a client used last. It is looked up again when the client sees something else of the servers.
#[derive(Debug)]
struct HeldSlot {
    variant: Option<SnapshotVariant>,
    is_personal: bool,
    slot: Arc<SurfaceSlot>,
}

impl SurfaceHandle {
    pub fn of(key: SurfaceKey, profile: ClientProfile) -> Self {
        SurfaceHandle { key, profile, slot: Mutex::default() }
    }

    /// What decides which connections to servers the client uses.
    pub fn profile(&self) -> ClientProfile {
        self.profile
    }

    /// Whose share of what there is for everybody the client uses.
    pub(super) fn person(&self) -> Owner {
        Owner::of_share(&self.key.principal)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl SurfaceSlot {
    fn new(key: SurfaceKey, variant: Option<SnapshotVariant>) -> Self {
        let state = SlotState { surface: None, error: None, base: None, last_used: Instant::now() };
        SurfaceSlot { key, variant, state: Mutex::new(state), building: tokio::sync::Mutex::default() }
    }

    fn is_built_from(&self, base: &Arc<Surface>) -> bool {
        lock(&self.state).base.as_ref().is_some_and(|built_from| Arc::ptr_eq(built_from, base))
    }

    /// Runs the script for this key, unless that has been done for this shared surface. After a failure the old surface
    /// stays.
    async fn build(&self, base: &Arc<Surface>, run_permits: &Semaphore) {
        let _building = self.building.lock().await;
        if self.is_built_from(base) {
            return;
        }
        let _permit = run_permits.acquire().await;
        let (shared, key, variant) = (Arc::clone(base), self.key.clone(), self.variant.clone());
        let run = move || match shared.personal() {
            None if variant.is_none() => Ok(shared),
            _ => shared.origin().build_for(key, variant.as_ref()).map(Arc::new),
        };
        let built = match tokio::task::spawn_blocking(run).await {
            Ok(built) => built,
            Err(error) => Err(Diagnostic::error(format!("the session script crashed: {error}")).into()),
        };
        let mut state = lock(&self.state);
        state.base = Some(Arc::clone(base));
        match built {
            Ok(surface) => (state.surface, state.error) = (Some(surface), None),
            Err(error) => {
                let user = &self.key.principal.sub;
                tracing::error!(%user, "the session script failed for this user; the old surface stays:\n{error}");
                state.error = Some(Arc::new(error));
            }
        }
    }

    /// The last good surface, or the error of the first run; `None` before the first run.
    fn latest(&self) -> Option<Result<Arc<Surface>, Arc<BuildError>>> {
        let mut state = lock(&self.state);
        state.last_used = Instant::now();
        match (&state.surface, &state.error) {
            (Some(surface), _) => Some(Ok(Arc::clone(surface))),
            (None, Some(error)) => Some(Err(Arc::clone(error))),
            (None, None) => None,
        }
    }

    fn clear(&self) {
        let mut state = lock(&self.state);
        (state.surface, state.error, state.base) = (None, None, None);
    }

    fn is_idle(&self) -> bool {
        lock(&self.state).last_used.elapsed() >= IDLE_TIMEOUT
    }
}

impl Surfaces {
    /// Derives the surfaces from the shared one, and rebuilds them with it until its sender is dropped.
    pub(super) fn follow(current: watch::Receiver<SharedSurface>) -> Arc<Self> {
        let surfaces = Arc::new(Surfaces {
            current,
            slots: Mutex::default(),
            changes: watch::channel(0).0,
            run_permits: Semaphore::new(MAX_CONCURRENT_RUNS),
        });
        let (weak, mut current) = (Arc::downgrade(&surfaces), surfaces.current.clone());
        tokio::spawn(async move {
            while current.changed().await.is_ok() {
                let shared = current.borrow_and_update().surface.clone();
                let Some(surfaces) = weak.upgrade() else { return };
                surfaces.rebuild_all(shared).await;
            }
        });
        surfaces
    }

    /// A counter that increases whenever any surface may have changed.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    async fn rebuild_all(&self, shared: Option<Arc<Surface>>) {
        self.evict(0);
        let is_personal = shared.as_ref().is_some_and(|surface| surface.personal().is_some());
        let mut slots = Vec::new();
        for (key, slot) in lock(&self.slots).iter() {
            if is_personal == key.person.is_some() {
                slots.push(Arc::clone(slot));
            } else {
                // Not used now. A later script must not find the surfaces of this one.
                slot.clear();
            }
        }
        let Some(base) = shared.filter(|_| !slots.is_empty()) else {
            self.changes.send_modify(|count| *count += 1);
            return;
        };
        for chunk in slots.chunks(MAX_CONCURRENT_RUNS) {
            futures::future::join_all(chunk.iter().map(|slot| slot.build(&base, &self.run_permits))).await;
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Drops surfaces without a handle: every idle one, and the least recently used beyond the maximum. Leaves space
    /// for `reserve` new ones.
    fn evict(&self, reserve: usize) {
        let mut slots = lock(&self.slots);
        let is_unheld = |slot: &Arc<SurfaceSlot>| Arc::strong_count(slot) == 1;
        slots.retain(|_, slot| !is_unheld(slot) || !slot.is_idle());
        let mut unheld: Vec<(Instant, SlotKey)> = slots
            .iter()
            .filter(|(_, slot)| is_unheld(slot))
            .map(|(key, slot)| (lock(&slot.state).last_used, key.clone()))
            .collect();
        let max = MAX_UNHELD - reserve;
        if unheld.len() > max {
            unheld.sort_by_key(|(last_used, _)| *last_used);
            for (_, key) in &unheld[..unheld.len() - max] {
                slots.remove(key);
            }
        }
    }

    /// The slot of a handle, which holds it from then on. `None` if the client uses the shared surface.
    fn slot(&self, shared: &Surface, handle: &SurfaceHandle) -> Option<Arc<SurfaceSlot>> {
        let variant = shared.origin().variant(handle.profile);
        let is_personal = shared.personal().is_some();
        if variant.is_none() && !is_personal {
            return None;
        }
        let mut held = lock(&handle.slot);
        if let Some(held) = held.as_ref().filter(|held| held.is_personal == is_personal && held.variant == variant) {
            return Some(Arc::clone(&held.slot));
        }
        let person = is_personal.then(|| handle.key.cache_key());
        let slot_key = SlotKey { variant: variant.clone(), person };
        let known = lock(&self.slots).get(&slot_key).cloned();
        let slot = known.unwrap_or_else(|| {
            self.evict(1);
            let key = match is_personal {
                true => SurfaceKey { client: Arc::new(handle.key.client.seen()), ..handle.key.clone() },
                false => SurfaceKey::anonymous(),
            };
            let slot = Arc::new(SurfaceSlot::new(key, variant.clone()));
            Arc::clone(lock(&self.slots).entry(slot_key).or_insert(slot))
        });
        *held = Some(HeldSlot { variant, is_personal, slot: Arc::clone(&slot) });
        Some(slot)
    }

    /// The surface of a client, without waiting; `None` before it was first built.
    pub(super) fn get(&self, handle: &SurfaceHandle) -> Option<Arc<Surface>> {
        let shared = self.current.borrow().surface.clone()?;
        match self.slot(&shared, handle) {
            None => Some(shared),
            Some(slot) => slot.latest()?.ok(),
        }
    }

    /// The surface of a client, derived from `shared`. The first request of a key waits for the script.
    pub(super) async fn get_or_build(
        &self,
        shared: Arc<Surface>,
        handle: &SurfaceHandle,
    ) -> Result<Arc<Surface>, Arc<BuildError>> {
        let Some(slot) = self.slot(&shared, handle) else { return Ok(shared) };
        if let Some(latest) = slot.latest() {
            return latest;
        }
        slot.build(&shared, &self.run_permits).await;
        slot.latest().unwrap_or_else(|| Err(Arc::new(Diagnostic::error("the session script did not run").into())))
    }

    /// The users for whom the last run of the script failed, with the error; each pair once.
    pub(super) fn errors(&self) -> Vec<(Arc<str>, Arc<BuildError>)> {
        let slots: Vec<Arc<SurfaceSlot>> = lock(&self.slots).values().cloned().collect();
        let failed = slots.iter().filter_map(|slot| {
            let error = lock(&slot.state).error.clone()?;
            Some((Arc::clone(&slot.key.principal.sub), error))
        });
        let mut failed: Vec<_> = failed.collect();
        let sort_key = |(user, error): &(Arc<str>, Arc<BuildError>)| (Arc::clone(user), error.diagnostic().to_string());
        failed.sort_by_cached_key(sort_key);
        failed.dedup_by_key(|pair| sort_key(pair));
        failed
    }

    /// Waits until the client's surface is derived from the present shared surface.
    pub(super) async fn caught_up(&self, handle: &SurfaceHandle) {
        let Some(shared) = self.current.borrow().surface.clone() else { return };
        if let Some(slot) = self.slot(&shared, handle) {
            slot.build(&shared, &self.run_permits).await;
        }
    }
}
