//! The surface of each client. All clients with the same server lists share one surface, unless the script reads the
//! user or client, policies are configured, or a server lists items per person; then each [`SurfaceKey`] has its own.
//! Surfaces in use are rebuilt whenever the shared surface or the policies change; the old one serves until then. Excess
//! surfaces are evicted and rebuilt on demand.

mod people;
mod room;
mod slot;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use self::slot::{Built, SurfaceSlot};
use super::rebuild::SharedSurface;
use crate::surface::{BuildError, ListDigests, Surface};
pub(super) use people::People;
use proxy_identity::cedar::{CurrentPolicies, Policies};
use proxy_mcp_client::PersonBackend;
use proxy_model::{ClientProfile, Owner, PersonKey, SnapshotVariant, SurfaceCacheKey, SurfaceKey};
use proxy_telemetry::Telemetry;
pub use view::View;

/// A surface without a handle is forgotten when it has not been used for this long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Maximum number of cached surfaces without a handle.
const MAX_UNHELD: usize = 1000;
/// Maximum number of concurrent script runs.
const MAX_CONCURRENT_RUNS: usize = 4;

/// The surfaces of all clients.
pub(super) struct Surfaces {
    current: watch::Receiver<SharedSurface>,
    slots: Mutex<HashMap<SlotKey, Arc<SurfaceSlot>>>,
    /// Increases whenever any surface of any view may have changed.
    changes: Arc<watch::Sender<u64>>,
    /// Limits the concurrent script runs of rebuilds and requests together.
    run_permits: Semaphore,
    policies: CurrentPolicies,
    people: Arc<People>,
    telemetry: Arc<Telemetry>,
}

/// What distinguishes the surfaces of two clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SlotKey {
    /// The server lists for this client; `None` if they are the ones that the shared surface was built from.
    variant: Option<SnapshotVariant>,
    /// The user and client that the surface is built for; `None` if it is the same for everybody.
    person: Option<SurfaceCacheKey>,
    /// The person whose token gives access to per-person servers.
    own: Option<PersonKey>,
    /// The profile that selects the lists of per-person servers; `None` if there are no such servers.
    profile: Option<ClientProfile>,
}

/// The part of a surface key that can make surfaces differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyedBy {
    Nothing,
    /// What the client accepts, because the script reads nothing else of it.
    Row,
    /// The user, because the policies read nothing else.
    User,
    UserAndClient,
}

impl KeyedBy {
    fn of(shared: &Surface, policies: Option<&Policies>, people: &People) -> Self {
        match policies {
            _ if shared.personal().is_some() => KeyedBy::UserAndClient,
            // Whether the script reads the user or client while it handles per-person items cannot be known in advance.
            _ if people.see_differently() => KeyedBy::UserAndClient,
            None if shared.reads_row() => KeyedBy::Row,
            None => KeyedBy::Nothing,
            Some(policies) if policies.reads_client() => KeyedBy::UserAndClient,
            Some(_) => KeyedBy::User,
        }
    }
}

/// A client's reference to its surface. While the handle exists, changes of the surface's lists are known.
#[derive(Debug)]
pub struct SurfaceHandle {
    key: SurfaceKey,
    profile: ClientProfile,
    /// Whether the principal has presented a token from an issuer, and therefore has per-person connections.
    has_shown_token: bool,
    /// The person of these connections, once somebody has asked.
    person_key: OnceLock<Option<PersonKey>>,
    /// These connections. They stay open for as long as the handle exists.
    own_servers: Mutex<Vec<Arc<dyn PersonBackend>>>,
    slot: Mutex<Option<HeldSlot>>,
    /// The view of the client's profile, once it was looked up.
    view: OnceLock<Arc<View>>,
}

/// The slot that a client used last. It is looked up again when the client's server lists change.
#[derive(Debug)]
struct HeldSlot {
    variant: Option<SnapshotVariant>,
    keyed_by: KeyedBy,
    by_profile: bool,
    row: Option<Arc<str>>,
    slot: Arc<SurfaceSlot>,
}

impl SurfaceHandle {
    pub fn of(key: SurfaceKey, profile: ClientProfile) -> Self {
        SurfaceHandle {
            key,
            profile,
            has_shown_token: false,
            person_key: OnceLock::new(),
            own_servers: Mutex::default(),
            slot: Mutex::default(),
            view: OnceLock::new(),
        }
    }

    /// The handle of a client that has presented a token from an issuer. Nobody else sees this person's per-person
    /// lists, not even an operator who impersonates the person.
    #[must_use]
    pub fn with_token_shown(self) -> Self {
        SurfaceHandle { has_shown_token: true, ..self }
    }

    /// The person whose connections to per-person servers are used.
    pub fn person_key(&self) -> Option<&PersonKey> {
        let known = || PersonKey::of(&self.key.principal).filter(|_| self.has_shown_token);
        self.person_key.get_or_init(known).as_ref()
    }

    /// The connections that only this person uses, as far as they were opened for this handle.
    pub(super) fn held(&self) -> Vec<Arc<dyn PersonBackend>> {
        self.own_servers.lock().clone()
    }

    pub(super) fn hold(&self, servers: &[Arc<dyn PersonBackend>]) {
        let before = std::mem::replace(&mut *self.own_servers.lock(), servers.to_vec());
        drop(before);
    }

    /// The view that was looked up before, or this one from now on.
    pub(super) fn view_or(&self, look_up: impl FnOnce() -> Arc<View>) -> &Arc<View> {
        self.view.get_or_init(look_up)
    }

    /// Whose surface it is.
    pub fn key(&self) -> &SurfaceKey {
        &self.key
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

/// The name of the row of limits that a client has, if the script reads what clients accept.
fn row_of(shared: &Surface, handle: &SurfaceHandle) -> Option<Arc<str>> {
    if !shared.reads_row() {
        return None;
    }
    shared.dialect_of(&handle.key.client).map(|dialect| Arc::clone(&dialect.row))
}

/// Whether only the table refers to a slot.
fn is_unheld(slot: &Arc<SurfaceSlot>) -> bool {
    Arc::strong_count(slot) == 1
}

impl Surfaces {
    /// Derives the surfaces from the shared one, and rebuilds them with it until its sender is dropped.
    pub(super) fn follow(
        current: watch::Receiver<SharedSurface>,
        policies: CurrentPolicies,
        people: Arc<People>,
        changes: Arc<watch::Sender<u64>>,
        telemetry: Arc<Telemetry>,
    ) -> Arc<Self> {
        let mut policy_changes = policies.subscribe();
        let surfaces = Arc::new(Surfaces {
            current,
            slots: Mutex::default(),
            changes,
            run_permits: Semaphore::new(MAX_CONCURRENT_RUNS),
            policies,
            people: Arc::clone(&people),
            telemetry,
        });
        let (weak, mut current) = (Arc::downgrade(&surfaces), surfaces.current.clone());
        let mut people_changes = people.changes.clone();
        tokio::spawn(async move {
            loop {
                // The surfaces hold the sender of the policies, which is gone only after them.
                let mut is_of_people = false;
                let is_open = tokio::select! {
                    changed = people_changes.changed() => {
                        is_of_people = true;
                        changed.is_ok()
                    }
                    changed = current.changed() => changed.is_ok(),
                    changed = policy_changes.changed() => changed.is_ok(),
                };
                if !is_open {
                    return;
                }
                if is_of_people {
                    let Some(surfaces) = weak.upgrade() else { return };
                    surfaces.rebuild_of_people().await;
                    continue;
                }
                policy_changes.borrow_and_update();
                let shared = current.borrow_and_update().surface.clone();
                let Some(surfaces) = weak.upgrade() else { return };
                surfaces.rebuild_all(shared).await;
            }
        });
        surfaces
    }

    async fn rebuild_all(&self, shared: Option<Arc<Surface>>) {
        self.evict(0);
        let policies = self.policies.get();
        let of = |shared: &Arc<Surface>| KeyedBy::of(shared, policies.as_deref(), &self.people);
        let is_personal = shared.as_ref().map_or(KeyedBy::Nothing, of) != KeyedBy::Nothing;
        let by_profile = self.people.see_differently();
        let mut slots = Vec::new();
        for (key, slot) in self.slots.lock().iter() {
            if is_personal == key.person.is_some() && by_profile == key.profile.is_some() {
                // Nobody sees a change of a surface that was dropped and has no handle.
                if !(slot.is_empty() && is_unheld(slot)) {
                    slots.push(Arc::clone(slot));
                }
            } else {
                // Not used now. A later script must not find the surfaces of this one.
                slot.clear();
            }
        }
        let Some(base) = shared.filter(|_| !slots.is_empty()) else {
            self.changes.send_modify(|count| *count += 1);
            return;
        };
        self.build_all(&slots, &base, policies.as_ref()).await;
    }

    /// Rebuilds the surfaces of people whose per-person lists have changed.
    async fn rebuild_of_people(&self) {
        let Some(base) = self.current.borrow().surface.clone() else { return };
        let slots: Vec<_> = self.slots.lock().values().cloned().collect();
        // Held by the vector and by the table, and by a client if there is one.
        let is_seen = |slot: &Arc<SurfaceSlot>| Arc::strong_count(slot) > 2;
        let outdated = slots.iter().filter(|slot| is_seen(slot) && !slot.is_empty() && !slot.shows(&self.people));
        let outdated: Vec<_> = outdated.cloned().collect();
        // Held here, no surface counts as unused.
        drop(slots);
        self.build_all(&outdated, &base, self.policies.get().as_ref()).await;
    }

    async fn build_all(&self, slots: &[Arc<SurfaceSlot>], base: &Arc<Surface>, policies: Option<&Arc<Policies>>) {
        for chunk in slots.chunks(MAX_CONCURRENT_RUNS) {
            futures::future::join_all(chunk.iter().map(|slot| self.build(slot, base, policies))).await;
            self.make_room();
            self.changes.send_modify(|count| *count += 1);
        }
    }

    async fn build(&self, slot: &SurfaceSlot, base: &Arc<Surface>, policies: Option<&Arc<Policies>>) -> Built {
        slot.build(base, policies, &self.people, &self.run_permits, &self.telemetry).await
    }

    /// Drops surfaces without a handle: every idle one, and the least recently used beyond the maximum. Leaves space
    /// for `reserve` new ones.
    fn evict(&self, reserve: usize) {
        let mut slots = self.slots.lock();
        slots.retain(|_, slot| !is_unheld(slot) || !slot.is_idle(IDLE_TIMEOUT));
        let mut unheld: Vec<(Instant, SlotKey)> = slots
            .iter()
            .filter(|(_, slot)| is_unheld(slot))
            .map(|(key, slot)| (slot.last_used(), key.clone()))
            .collect();
        let max = MAX_UNHELD - reserve;
        if unheld.len() > max {
            unheld.sort_by_key(|(last_used, _)| *last_used);
            for (_, key) in &unheld[..unheld.len() - max] {
                slots.remove(key);
            }
        }
    }

    /// Drops surfaces beyond the limits.
    fn make_room(&self) {
        let dropped = room::make(self.slots.lock().values());
        drop(dropped);
    }

    /// The slot of a handle, which holds it from then on. `None` if the client uses the shared surface.
    fn slot(&self, shared: &Surface, handle: &SurfaceHandle) -> Option<Arc<SurfaceSlot>> {
        let variant = shared.origin().variant(handle.profile);
        let keyed_by = KeyedBy::of(shared, self.policies.get().as_deref(), &self.people);
        let by_profile = self.people.see_differently();
        let row = row_of(shared, handle);
        // A client that nothing is known of has what the shared surface was built for.
        let is_shared = keyed_by == KeyedBy::Nothing || (keyed_by == KeyedBy::Row && row.is_none());
        if variant.is_none() && is_shared {
            return None;
        }
        let mut held = handle.slot.lock();
        let is_same = |held: &&HeldSlot| {
            held.keyed_by == keyed_by && held.variant == variant && held.by_profile == by_profile && held.row == row
        };
        if let Some(held) = held.as_ref().filter(is_same) {
            return Some(Arc::clone(&held.slot));
        }
        let is_personal = keyed_by != KeyedBy::Nothing;
        let key = || match keyed_by {
            KeyedBy::Nothing => SurfaceKey::anonymous(),
            KeyedBy::Row => SurfaceKey { row: row.clone(), ..SurfaceKey::anonymous() },
            KeyedBy::User => SurfaceKey { client: Arc::default(), row: row.clone(), ..handle.key.clone() },
            KeyedBy::UserAndClient => SurfaceKey { client: Arc::new(handle.key.client.seen()), ..handle.key.clone() },
        };
        let person = is_personal.then(|| match keyed_by {
            // Equal to that of what is kept of the client, which takes longer to make.
            KeyedBy::UserAndClient => handle.key.cache_key(),
            _ => key().cache_key(),
        });
        let profile = by_profile.then_some(handle.profile);
        let own = by_profile.then(|| handle.person_key()).flatten().cloned();
        let slot_key = SlotKey { variant: variant.clone(), person, own: own.clone(), profile };
        let known = self.slots.lock().get(&slot_key).cloned();
        let slot = known.unwrap_or_else(|| {
            self.evict(1);
            // What all clients of a row share counts toward nobody's share.
            let is_of_person = is_personal && keyed_by != KeyedBy::Row;
            let person = is_of_person.then(|| handle.person());
            let slot = SurfaceSlot::new(key(), variant.clone(), person).of_person(own.as_ref(), handle.profile);
            let slot = Arc::new(slot);
            Arc::clone(self.slots.lock().entry(slot_key).or_insert(slot))
        });
        *held = Some(HeldSlot { variant, keyed_by, by_profile, row, slot: Arc::clone(&slot) });
        Some(slot)
    }

    /// The surface of a client, without waiting; `None` before it was first built, and if it was dropped.
    pub(super) fn get(&self, handle: &SurfaceHandle) -> Option<Arc<Surface>> {
        let shared = self.current.borrow().surface.clone()?;
        match self.slot(&shared, handle) {
            None => Some(shared),
            Some(slot) => slot.latest()?.ok(),
        }
    }

    /// What distinguishes the lists of a client's surface, even if that was dropped. `None` before it was first built, as
    /// after a change by which the client sees other lists than others do: then it is built in the background, and
    /// [`Self::changes`] says when.
    pub(super) fn lists(self: &Arc<Self>, handle: &SurfaceHandle) -> Option<ListDigests> {
        let shared = self.current.borrow().surface.clone()?;
        let Some(slot) = self.slot(&shared, handle) else { return Some(shared.list_digests()) };
        let lists = slot.lists();
        if lists.is_none() && slot.begin_waiting() {
            let surfaces = Arc::clone(self);
            tokio::spawn(async move {
                let _ = surfaces.build(&slot, &shared, surfaces.policies.get().as_ref()).await;
                slot.end_waiting();
                if slot.lists().is_some() {
                    surfaces.make_room();
                    surfaces.changes.send_modify(|count| *count += 1);
                }
            });
        }
        lists
    }

    /// The surface of a client, derived from `shared`. The first request of a key waits for the script.
    pub(super) async fn get_or_build(
        &self,
        shared: Arc<Surface>,
        handle: &SurfaceHandle,
    ) -> Result<Arc<Surface>, Arc<BuildError>> {
        let Some(slot) = self.slot(&shared, handle) else { return Ok(shared) };
        let policies = self.policies.get();
        // What other policies allowed must not be shown any more, not even until all surfaces are built again.
        let is_current = slot.is_permitted_by(policies.as_deref()) && slot.shows(&self.people);
        if let Some(latest) = slot.latest().filter(|_| is_current) {
            return latest;
        }
        let built = self.build(&slot, &shared, policies.as_ref()).await;
        self.make_room();
        built
    }

    /// The surfaces that are kept beside the shared one.
    pub(super) fn built(&self) -> Vec<Arc<Surface>> {
        self.slots.lock().values().filter_map(|slot| slot.current()).collect()
    }

    /// The surfaces that were built for what clients accept, with the row; one for each row.
    pub(super) fn of_rows(&self) -> Vec<(Arc<str>, Arc<Surface>)> {
        let mut rows: Vec<(Arc<str>, Arc<Surface>)> = Vec::new();
        for slot in self.slots.lock().values() {
            let Some(row) = slot.key.row.clone() else { continue };
            if rows.iter().all(|(known, _)| *known != row) {
                rows.extend(slot.current().map(|surface| (row, surface.unrestricted())));
            }
        }
        rows
    }

    /// The users for whom the last run of the script failed, with the error; each pair once.
    pub(super) fn errors(&self) -> Vec<(Arc<str>, Arc<BuildError>)> {
        let slots: Vec<Arc<SurfaceSlot>> = self.slots.lock().values().cloned().collect();
        let failed = slots.iter().filter_map(|slot| Some((Arc::clone(&slot.key.principal.who.sub), slot.error()?)));
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
            slot.touch();
            // A failure is that of the request that follows.
            let policies = self.policies.get();
            let _ = self.build(&slot, &shared, policies.as_ref()).await;
            self.make_room();
        }
    }
}
