//! The surface of all clients with equal keys. It may be evicted to save memory and is rebuilt on demand; the digests of
//! its lists are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::people::{People, seen_by};
use crate::gateway::telemetry::audit_surface;
use crate::surface::{BuildError, ListDigests, Surface};
use proxy_base::diagnostic::Diagnostic;
use proxy_identity::cedar::Policies;
use proxy_model::{BackendView, ClientProfile, Owner, PersonKey, SnapshotVariant, SurfaceKey};
use proxy_telemetry::Telemetry;

/// The last surface that was built without an error, or the error of the first run.
pub(super) type Built = Result<Arc<Surface>, Arc<BuildError>>;

#[derive(Debug)]
pub(super) struct SurfaceSlot {
    pub(super) key: SurfaceKey,
    variant: Option<SnapshotVariant>,
    /// The person and the client profile, for the lists of per-person servers.
    own: Option<(PersonKey, ClientProfile)>,
    /// The person whose memory share the surface counts toward. `None` if the script does not read the user or client.
    pub(super) person: Option<Owner>,
    state: Mutex<SlotState>,
    /// Held during a run: a second request waits and takes the surface that the first one built.
    building: tokio::sync::Mutex<()>,
    /// Whether the first surface is being built for clients that are to be told of its lists.
    is_awaited: AtomicBool,
}

#[derive(Debug)]
struct SlotState {
    /// The last surface that was built without an error. `None` if there is none or if it was dropped.
    surface: Option<Arc<Surface>>,
    /// The lists of a surface that was dropped.
    lists: Option<ListDigests>,
    error: Option<Arc<BuildError>>,
    /// The shared surface that this one was derived from.
    base: Option<Arc<Surface>>,
    /// The policies that it was derived with.
    policies: Option<u64>,
    /// The person's views of per-person servers at the last build.
    own_views: Vec<Arc<BackendView>>,
    last_used: Instant,
}

impl SurfaceSlot {
    pub(super) fn new(key: SurfaceKey, variant: Option<SnapshotVariant>, person: Option<Owner>) -> Self {
        let state = SlotState {
            surface: None,
            lists: None,
            error: None,
            base: None,
            policies: None,
            own_views: Vec::new(),
            last_used: Instant::now(),
        };
        let (state, building) = (Mutex::new(state), tokio::sync::Mutex::default());
        SurfaceSlot { key, variant, own: None, person, state, building, is_awaited: AtomicBool::new(false) }
    }

    /// Adds the person and profile for the lists of per-person servers.
    pub(super) fn of_person(self, person: Option<&PersonKey>, profile: ClientProfile) -> Self {
        SurfaceSlot { own: person.map(|person| (person.clone(), profile)), ..self }
    }

    /// The person's current views of per-person servers.
    fn own_views(&self, people: &People) -> Vec<Arc<BackendView>> {
        people.views(self.own.as_ref().map(|(person, _)| person))
    }

    /// Whether the surface was built from the person's current views.
    pub(super) fn shows(&self, people: &People) -> bool {
        is_same(&self.own_views(people), &self.state.lock().own_views)
    }

    /// What was built from this shared surface with these policies.
    fn built_from(&self, base: &Arc<Surface>, policies: Option<u64>, own_views: &[Arc<BackendView>]) -> Option<Built> {
        let state = self.state.lock();
        let is_same_base = state.base.as_ref().is_some_and(|built_from| Arc::ptr_eq(built_from, base));
        let is_current = is_same_base && state.policies == policies && is_same(own_views, &state.own_views);
        state.built().filter(|_| is_current)
    }

    /// Runs the script for this key and leaves out what the policies deny, unless that has been done for this shared surface
    /// and these policies. After a failure the old surface stays.
    pub(super) async fn build(
        &self,
        base: &Arc<Surface>,
        policies: Option<&Arc<Policies>>,
        people: &People,
        run_permits: &Semaphore,
        telemetry: &Arc<Telemetry>,
    ) -> Built {
        let _building = self.building.lock().await;
        let number = policies.map(|policies| policies.number());
        let own_views = self.own_views(people);
        if let Some(built) = self.built_from(base, number, &own_views) {
            return built;
        }
        let _permit = run_permits.acquire().await;
        let (shared, key, variant) = (Arc::clone(base), self.key.clone(), self.variant.clone());
        let (stats, policies, old) =
            (Arc::clone(telemetry.proxy()), policies.cloned(), self.state.lock().surface.clone());
        let of_profile = |(_, profile): &(PersonKey, ClientProfile)| -> Vec<Arc<BackendView>> {
            own_views.iter().map(|view| seen_by(view, *profile)).collect()
        };
        let own = self.own.as_ref().map(of_profile).unwrap_or_default();
        let run = move || {
            let permitted = |surface: Arc<Surface>| {
                let surface = match &policies {
                    Some(policies) => Arc::new(surface.permitted_to(policies, &key)),
                    None => surface,
                };
                // Computed here, where nobody waits for a lock.
                surface.list_digests();
                surface
            };
            let built = match shared.personal() {
                None if variant.is_none() && own.is_empty() && key.row.is_none() => Ok(shared),
                _ => {
                    let began = Instant::now();
                    let built = shared.origin().build_for(key.clone(), variant.as_ref(), &own);
                    stats.surface_built(began.elapsed());
                    built.map(Arc::new).inspect(Surface::log_schema_faults)
                }
            };
            // The old surface stays after a failure, with what is permitted now.
            let kept = old.filter(|_| built.is_err()).map(|old| permitted(old.unrestricted()));
            (built.map(permitted), kept)
        };
        let (built, kept) = match tokio::task::spawn_blocking(run).await {
            Ok(outcome) => outcome,
            Err(error) => (Err(Diagnostic::error(format!("the session script crashed: {error}")).into()), None),
        };
        let mut state = self.state.lock();
        (state.base, state.policies, state.own_views) = (Some(Arc::clone(base)), number, own_views);
        match built {
            Ok(surface) => {
                let before = state.surface.replace(Arc::clone(&surface));
                (state.lists, state.error) = (None, None);
                drop(state);
                drop(before);
                audit_surface(telemetry, &surface);
                Ok(surface)
            }
            Err(error) => {
                state.surface = kept;
                let user = self.key.principal.sub();
                tracing::error!(%user, "the session script failed for this user; the old surface stays:\n{error}");
                let error = Arc::clone(state.error.insert(Arc::new(error)));
                state.surface.clone().ok_or(error)
            }
        }
    }

    /// The last good surface, or the error of the first run; `None` before the first run, and if the surface was dropped.
    pub(super) fn latest(&self) -> Option<Built> {
        let mut state = self.state.lock();
        state.last_used = Instant::now();
        state.built()
    }

    /// The last good surface, without using it.
    pub(super) fn current(&self) -> Option<Arc<Surface>> {
        self.state.lock().surface.clone()
    }

    /// Whether these policies decided what the surface has.
    pub(super) fn is_permitted_by(&self, policies: Option<&Policies>) -> bool {
        self.state.lock().policies == policies.map(Policies::number)
    }

    /// What the lists of the last good surface are, even if it was dropped.
    pub(super) fn lists(&self) -> Option<ListDigests> {
        let state = self.state.lock();
        state.surface.as_ref().map(|surface| surface.list_digests()).or(state.lists)
    }

    /// Whether this is the first one to have the surface built for clients that are to be told of its lists.
    pub(super) fn begin_waiting(&self) -> bool {
        !self.is_awaited.swap(true, Ordering::Relaxed)
    }

    pub(super) fn end_waiting(&self) {
        self.is_awaited.store(false, Ordering::Relaxed);
    }

    pub(super) fn error(&self) -> Option<Arc<BuildError>> {
        self.state.lock().error.clone()
    }

    pub(super) fn clear(&self) {
        let mut state = self.state.lock();
        (state.surface, state.lists, state.error, state.base) = (None, None, None, None);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().surface.is_none()
    }

    /// The size of the surface and when it was last used; `None` if there is no surface.
    pub(super) fn size(&self) -> Option<(Instant, usize)> {
        let state = self.state.lock();
        state.surface.as_ref().map(|surface| (state.last_used, surface.bytes()))
    }

    pub(super) fn last_used(&self) -> Instant {
        self.state.lock().last_used
    }

    pub(super) fn touch(&self) {
        self.state.lock().last_used = Instant::now();
    }

    pub(super) fn is_idle(&self, timeout: Duration) -> bool {
        self.last_used().elapsed() >= timeout
    }

    /// Takes the surface out of the slot, unless a request holds it. A surface that cannot be built again stays.
    pub(super) fn take_unheld(&self) -> Option<Arc<Surface>> {
        let mut state = self.state.lock();
        if state.error.is_some() || state.surface.as_ref().is_none_or(|surface| Arc::strong_count(surface) > 1) {
            return None;
        }
        let surface = state.surface.take()?;
        (state.lists, state.base) = (Some(surface.list_digests()), None);
        Some(surface)
    }
}

/// Whether these are the same views.
fn is_same(one: &[Arc<BackendView>], other: &[Arc<BackendView>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}

impl SlotState {
    fn built(&self) -> Option<Built> {
        match (&self.surface, &self.error) {
            (Some(surface), _) => Some(Ok(Arc::clone(surface))),
            (None, Some(error)) => Some(Err(Arc::clone(error))),
            (None, None) => None,
        }
    }
}
