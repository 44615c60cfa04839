//! What each visitor sees: one surface for all where the script does not ask whom it runs for, else one for each. Those
//! that are in use are made again whenever the shared one is; the old one serves until then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

use super::rebuild::Current;
use crate::diagnostic::Diagnostic;
use crate::model::{SurfaceCacheKey, SurfaceKey};
use crate::surface::{BuildError, Surface};

/// Surfaces that nobody holds and nobody has asked for, for so long, are forgotten.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// So many are kept beside those that somebody holds.
const KEPT: usize = 1000;
/// So many scripts run at once.
const AT_ONCE: usize = 4;

/// The surfaces of all visitors.
pub(super) struct Surfaces {
    current: watch::Receiver<Current>,
    places: Mutex<HashMap<SurfaceCacheKey, Arc<Place>>>,
    /// Counts up whenever somebody may see something else.
    news: watch::Sender<u64>,
    /// So many scripts run at once, whoever asks.
    runs: Semaphore,
}

/// The surface of one kind of visitor.
#[derive(Debug)]
pub(super) struct Place {
    visitor: SurfaceKey,
    state: Mutex<State>,
    /// One run at a time: who comes second finds what the first has made.
    building: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State {
    /// The last good one.
    surface: Option<Arc<Surface>>,
    error: Option<Arc<BuildError>>,
    /// The shared surface of whose making this one is a variant.
    base: Option<Arc<Surface>>,
    used: Instant,
}

/// One visitor's look at the surfaces. While it lives, so does what it sees.
#[derive(Debug)]
pub struct SurfaceHandle {
    visitor: SurfaceKey,
    place: OnceLock<Arc<Place>>,
}

impl SurfaceHandle {
    pub fn of(visitor: SurfaceKey) -> Self {
        SurfaceHandle { visitor, place: OnceLock::new() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    fn new(visitor: SurfaceKey) -> Self {
        let state = State { surface: None, error: None, base: None, used: Instant::now() };
        Place { visitor, state: Mutex::new(state), building: tokio::sync::Mutex::default() }
    }

    fn is_made_of(&self, base: &Arc<Surface>) -> bool {
        lock(&self.state).base.as_ref().is_some_and(|made_of| Arc::ptr_eq(made_of, base))
    }

    /// Makes the variant of a shared surface, unless somebody has meanwhile. A run that fails leaves the old one.
    async fn make(&self, base: &Arc<Surface>, runs: &Semaphore) {
        let _turn = self.building.lock().await;
        if self.is_made_of(base) {
            return;
        }
        let _run = runs.acquire().await;
        let (made_of, visitor) = (Arc::clone(base), self.visitor.clone());
        let run = move || made_of.personal().map(|origin| origin.build_for(visitor));
        let built = match tokio::task::spawn_blocking(run).await {
            Ok(Some(built)) => built.map(Arc::new),
            Ok(None) => Ok(Arc::clone(base)),
            Err(error) => Err(Diagnostic::error(format!("the session script broke down: {error}")).into()),
        };
        let mut state = lock(&self.state);
        state.base = Some(Arc::clone(base));
        match built {
            Ok(surface) => (state.surface, state.error) = (Some(surface), None),
            Err(error) => {
                let user = &self.visitor.principal.sub;
                tracing::error!(%user, "the session script failed for this user, so what they saw stays:\n{error}");
                state.error = Some(Arc::new(error));
            }
        }
    }

    fn seen(&self) -> Option<Result<Arc<Surface>, Arc<BuildError>>> {
        let mut state = lock(&self.state);
        state.used = Instant::now();
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
        lock(&self.state).used.elapsed() >= IDLE
    }
}

impl Surfaces {
    /// The surfaces beside the shared one, which is followed until nobody makes it any more.
    pub(super) fn follow(current: watch::Receiver<Current>) -> Arc<Self> {
        let surfaces = Arc::new(Surfaces {
            current,
            places: Mutex::default(),
            news: watch::channel(0).0,
            runs: Semaphore::new(AT_ONCE),
        });
        let (weak, mut current) = (Arc::downgrade(&surfaces), surfaces.current.clone());
        tokio::spawn(async move {
            while current.changed().await.is_ok() {
                let shared = current.borrow_and_update().surface.clone();
                let Some(surfaces) = weak.upgrade() else { return };
                surfaces.make_all(shared).await;
            }
        });
        surfaces
    }

    /// Counts up whenever somebody may see something else.
    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    async fn make_all(&self, shared: Option<Arc<Surface>>) {
        let Some(base) = shared.filter(|surface| surface.personal().is_some()) else {
            // Nobody has one of their own any more, and none of these may come back.
            lock(&self.places).values().for_each(|place| place.clear());
            self.news.send_modify(|count| *count += 1);
            return;
        };
        self.forget_idle(0);
        let places: Vec<Arc<Place>> = lock(&self.places).values().cloned().collect();
        for some in places.chunks(AT_ONCE) {
            futures::future::join_all(some.iter().map(|place| place.make(&base, &self.runs))).await;
            self.news.send_modify(|count| *count += 1);
        }
    }

    /// Lets go of what nobody holds: all that is idle, and the longest unused where there are too many.
    fn forget_idle(&self, room: usize) {
        let mut places = lock(&self.places);
        let free = |place: &Arc<Place>| Arc::strong_count(place) == 1;
        places.retain(|_, place| !free(place) || !place.is_idle());
        let mut unheld: Vec<(Instant, SurfaceCacheKey)> = places
            .iter()
            .filter(|(_, place)| free(place))
            .map(|(key, place)| (lock(&place.state).used, key.clone()))
            .collect();
        let most = KEPT - room;
        if unheld.len() > most {
            unheld.sort_by_key(|(used, _)| *used);
            for (_, key) in &unheld[..unheld.len() - most] {
                places.remove(key);
            }
        }
    }

    /// The place of a visitor; held by the view from then on.
    fn place<'a>(&self, view: &'a SurfaceHandle) -> &'a Arc<Place> {
        view.place.get_or_init(|| {
            let key = view.visitor.key();
            if let Some(place) = lock(&self.places).get(&key) {
                return Arc::clone(place);
            }
            self.forget_idle(1);
            let visitor = || SurfaceKey { client: Arc::new(view.visitor.client.seen()), ..view.visitor.clone() };
            let place = || Arc::new(Place::new(visitor()));
            Arc::clone(lock(&self.places).entry(key).or_insert_with(place))
        })
    }

    /// What a visitor sees, without waiting; none if that is not made yet.
    pub(super) fn now(&self, view: &SurfaceHandle) -> Option<Arc<Surface>> {
        let shared = self.current.borrow().surface.clone()?;
        if shared.personal().is_none() {
            return Some(shared);
        }
        self.place(view).seen()?.ok()
    }

    /// What a visitor sees while the shared surface is this one. The first look waits for the script.
    pub(super) async fn variant(
        &self,
        shared: Arc<Surface>,
        view: &SurfaceHandle,
    ) -> Result<Arc<Surface>, Arc<BuildError>> {
        if shared.personal().is_none() {
            return Ok(shared);
        }
        let place = self.place(view);
        if let Some(seen) = place.seen() {
            return seen;
        }
        place.make(&shared, &self.runs).await;
        place.seen().unwrap_or_else(|| Err(Arc::new(Diagnostic::error("the session script did not run").into())))
    }

    /// For whom the script failed when it last ran for them, by name, and why. The same is told once for each.
    pub(super) fn errors(&self) -> Vec<(Arc<str>, Arc<BuildError>)> {
        let places: Vec<Arc<Place>> = lock(&self.places).values().cloned().collect();
        let failed = places.iter().filter_map(|place| {
            let error = lock(&place.state).error.clone()?;
            Some((Arc::clone(&place.visitor.principal.sub), error))
        });
        let mut failed: Vec<_> = failed.collect();
        let key = |(user, error): &(Arc<str>, Arc<BuildError>)| (Arc::clone(user), error.diagnostic().to_string());
        failed.sort_by_cached_key(key);
        failed.dedup_by_key(|pair| key(pair));
        failed
    }

    /// Ends when what the visitor sees is made of the shared surface of this moment.
    pub(super) async fn caught_up(&self, view: &SurfaceHandle) {
        let Some(shared) = self.current.borrow().surface.clone() else { return };
        if shared.personal().is_some() {
            self.place(view).make(&shared, &self.runs).await;
        }
    }
}
