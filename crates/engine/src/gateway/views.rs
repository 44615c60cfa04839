//! The views of a gateway: that of the top level, and one for each profile that somebody has used. All of them show servers
//! of one catalog.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Gateway;
use super::rebuild::{self, Edition, Rebuilding, SharedSurface};
use super::surfaces::{People, SurfaceHandle, Surfaces, View};
use crate::calls::RulesNow;
use proxy_identity::cedar::CurrentPolicies;
use proxy_mcp_client::Environment;
use proxy_model::Snapshot;
use proxy_telemetry::Telemetry;

/// All views.
pub(super) struct Views {
    pub(super) top: Arc<View>,
    /// The profile that this process serves as if it were the top level.
    only_profile: Option<Arc<str>>,
    of_profiles: ArcSwap<HashMap<Arc<str>, Arc<View>>>,
    /// Held while a view is added.
    adding: Mutex<()>,
    sources: ViewSources,
}

/// What every view is made of.
pub(super) struct ViewSources {
    pub(super) editions: watch::Receiver<Edition>,
    pub(super) catalog: watch::Receiver<Arc<Snapshot>>,
    /// How long the first list requests wait for servers without known lists.
    pub(super) first_list: Duration,
    pub(super) environment: Environment,
    pub(super) policies: CurrentPolicies,
    pub(super) people: Arc<People>,
    pub(super) telemetry: Arc<Telemetry>,
    /// Increases whenever any surface may have changed.
    pub(super) changes: Arc<watch::Sender<u64>>,
}

impl ViewSources {
    /// Begins to build the surfaces of a profile, or of the top level.
    fn view(&self, profile: Option<Arc<str>>) -> Arc<View> {
        let (sender, current) = watch::channel(SharedSurface::default());
        let lists_answered = match &profile {
            Some(_) => CancellationToken::new(),
            None => self.environment.lists_answered.clone(),
        };
        tokio::spawn(rebuild::rebuild_on_change(
            Rebuilding {
                profile: profile.clone(),
                editions: self.editions.clone(),
                catalog: self.catalog.clone(),
                first_list: self.first_list,
                environment: self.environment.clone(),
                lists_answered,
                telemetry: Arc::clone(&self.telemetry),
            },
            sender,
        ));
        let surfaces = Surfaces::follow(
            current.clone(),
            self.policies.clone(),
            Arc::clone(&self.people),
            Arc::clone(&self.changes),
            Arc::clone(&self.telemetry),
        );
        Arc::new(View::new(profile, self.editions.clone(), current, surfaces))
    }
}

impl Views {
    pub(super) fn new(sources: ViewSources, only_profile: Option<Arc<str>>) -> Arc<Self> {
        let top = sources.view(None);
        Arc::new(Views { top, only_profile, of_profiles: ArcSwap::default(), adding: Mutex::default(), sources })
    }

    /// The view of a profile. The first request for it makes it.
    fn of_profile(&self, profile: &Arc<str>) -> Arc<View> {
        if let Some(view) = self.used(profile) {
            return view;
        }
        let _adding = self.adding.lock();
        let mut views = HashMap::clone(&self.of_profiles.load());
        views.retain(|_, view| !view.is_over());
        let view = views.entry(Arc::clone(profile)).or_insert_with(|| self.sources.view(Some(Arc::clone(profile))));
        let view = Arc::clone(view);
        self.of_profiles.store(Arc::new(views));
        view
    }

    /// The view of a client, which its handle keeps.
    pub(super) fn of<'a>(&'a self, handle: &'a SurfaceHandle) -> &'a Arc<View> {
        match handle.key().principal.profile() {
            None => &self.top,
            Some(profile) if self.only_profile.as_ref() == Some(profile) => &self.top,
            Some(profile) => handle.view_or(|| self.of_profile(profile)),
        }
    }

    /// The flow rules for the clients of a profile, or of the top level. A client without a view has asked for nothing yet.
    pub(super) fn rules(&self, profile: Option<&Arc<str>>) -> RulesNow {
        let of_profiles = self.of_profiles.load();
        let view = match profile.filter(|profile| self.only_profile.as_ref() != Some(*profile)) {
            Some(profile) => of_profiles.get(profile).filter(|view| !view.is_over()),
            None => Some(&self.top),
        };
        if let Some(surface) = view.and_then(|view| view.current.borrow().surface.clone()) {
            return RulesNow::Of(surface);
        }
        let has_rules = self.sources.editions.borrow().scripts().any(|script| script.flow.is_some());
        if has_rules { RulesNow::Unknown } else { RulesNow::None }
    }

    /// Whether all views were built from this generation of backends.
    pub(super) fn are_built_from(&self, generation: u64) -> bool {
        let is_built = |view: &View| {
            let now = view.current.borrow();
            now.error.is_none() && now.generation == generation
        };
        is_built(&self.top) && self.of_profiles.load().values().all(|view| view.is_over() || is_built(view))
    }

    /// The profile that this process serves as if it were the top level.
    pub(super) fn only_profile(&self) -> Option<&Arc<str>> {
        self.only_profile.as_ref()
    }

    /// The view of a profile, if somebody has used it.
    pub(super) fn used(&self, profile: &str) -> Option<Arc<View>> {
        self.of_profiles.load().get(profile).filter(|view| !view.is_over()).cloned()
    }

    /// The views in use: that of the top level, and those of profiles.
    pub(super) fn in_use(&self) -> Vec<Arc<View>> {
        let of_profiles = self.of_profiles.load();
        let used = of_profiles.values().filter(|view| !view.is_over());
        std::iter::once(&self.top).chain(used).cloned().collect()
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.sources.changes.subscribe()
    }
}

impl Gateway {
    /// The view of the top level.
    pub(super) fn top(&self) -> &Arc<View> {
        &self.views.top
    }

    /// The view of a client: that of its profile, or of the top level.
    pub fn view<'a>(&'a self, handle: &'a SurfaceHandle) -> &'a View {
        self.views.of(handle)
    }

    /// The servers that a client may see something of.
    pub fn snapshot_of(&self, handle: &SurfaceHandle) -> Arc<Snapshot> {
        self.view(handle).shown(self.snapshot())
    }
}
