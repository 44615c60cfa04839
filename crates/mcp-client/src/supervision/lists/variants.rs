//! A server's lists for clients whose profile differs from the main connection's: the lists of the stateless leg (the
//! second, stateless connection to a server whose main connection is a session), and lists that depend on client
//! abilities. Also tracks the age of these lists.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::followed_lists::{FollowedLists, FollowedVariant, VariantLists};
use crate::connection::{Cache, CachedServer, ConnectError, Environment};
use crate::transport::Signals;
use proxy_config::ServerConfig;
use proxy_model::{Abilities, BackendKind, BackendView, ClientProfile, Era, Lists, ServerInfo, Status, ViewVariant};

/// The capabilities whose methods clients of both eras can call.
const COMMON_CAPABILITIES: [&str; 4] = ["tools", "resources", "prompts", "completions"];

/// When a server that could not be compared is tried again.
const COMPARE_AGAIN: Duration = Duration::from_secs(10 * 60);

/// The maximum number of sets of abilities for which a stateless server is listed.
const MAX_SETS: usize = 8;

/// Whether a server declares a capability in sessions that it does not declare to stateless clients.
pub(crate) fn misses_capability(session: &ServerInfo, stateless: &ServerInfo) -> bool {
    COMMON_CAPABILITIES.iter().any(|capability| session.declares(capability) && !stateless.declares(capability))
}

/// Whether a server that is met in a session speaks the stateless era as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegState {
    Unknown,
    /// What an earlier process found out.
    Cached(bool),
    Known(bool),
}

/// Where lists come from.
pub(crate) enum ListSource {
    Main,
    /// From a side connection.
    Followed(Arc<VariantLists>),
    /// From a side connection that has ended, or an earlier process had it. They are of unknown age.
    Unfollowed(ClientProfile),
}

#[derive(Debug)]
pub(crate) struct Variants {
    name: Arc<str>,
    config: ServerConfig,
    environment: Environment,
    view: Arc<ArcSwap<BackendView>>,
    stateless: watch::Sender<LegState>,
    lists: FollowedLists,
    /// Whether the server lists other items for clients with other abilities.
    varies: AtomicBool,
    /// What clients of a stateless connection could be asked so far.
    sets: Mutex<Vec<Abilities>>,
    /// The version of the server that was listed for each of these clients, by this process or an earlier one.
    compared: Mutex<HashMap<ClientProfile, String>>,
    /// The version of the server whose lists for clients that can be asked everything were compared with those for clients
    /// that can be asked nothing.
    all_compared: Mutex<Option<String>>,
    /// The version of the server that could not be compared, and when.
    not_compared: Mutex<Option<(String, Instant)>>,
    /// The variants that have been listed.
    published: watch::Sender<Vec<ClientProfile>>,
    /// Held while the stateless leg is looked for.
    pub(crate) looking: tokio::sync::Mutex<()>,
    /// Whether it is looked for in the background until the server says whether it has one.
    pub(crate) searching: AtomicBool,
}

impl Variants {
    pub(crate) fn new(
        name: &Arc<str>,
        config: &ServerConfig,
        environment: &Environment,
        view: &Arc<ArcSwap<BackendView>>,
        known: &CachedServer,
    ) -> Self {
        let state = match known.exact(ClientProfile::STATELESS) {
            Some(_) => LegState::Cached(true),
            None if known.absent.contains(&Era::Stateless) => LegState::Cached(false),
            None => LegState::Unknown,
        };
        let all_compared = known.version_compared();
        Variants {
            name: Arc::clone(name),
            config: config.clone(),
            environment: environment.clone(),
            view: Arc::clone(view),
            stateless: watch::Sender::new(state),
            lists: FollowedLists::default(),
            varies: AtomicBool::new(known.varies),
            sets: Mutex::default(),
            compared: Mutex::new(
                known.entries.iter().map(|entry| (entry.profile, entry.info.version.clone())).collect(),
            ),
            all_compared: Mutex::new(all_compared),
            not_compared: Mutex::default(),
            published: watch::Sender::default(),
            looking: tokio::sync::Mutex::default(),
            searching: AtomicBool::default(),
        }
    }

    pub(crate) fn stateless_leg(&self) -> LegState {
        *self.stateless.borrow()
    }

    /// Waits until it is known whether the server has a stateless leg, and what it lists there.
    pub(crate) async fn stateless_leg_known(&self) {
        let mut state = self.stateless.subscribe();
        let _ = state.wait_for(|state| matches!(state, LegState::Known(_))).await;
    }

    /// Where the lists that clients of this profile see come from.
    pub(crate) fn source(&self, profile: ClientProfile) -> ListSource {
        let view = self.view.load();
        let Some(variant) = view.variant(profile) else { return ListSource::Main };
        match self.lists.get(variant.profile) {
            Some(lists) => ListSource::Followed(lists),
            None => ListSource::Unfollowed(variant.profile),
        }
    }

    /// The lists of a variant come from a new connection from now on, until the returned value is dropped.
    pub(crate) fn follow(&self, profile: ClientProfile, signals: &Arc<Signals>) -> FollowedVariant<'_> {
        self.lists.follow(profile, signals)
    }

    /// Publishes the lists of a variant and saves them to the cache. Returns false if clients of this profile are better
    /// served by the main connection: a process is used in one way for everything, so it must not miss a capability.
    pub(crate) async fn publish(&self, profile: ClientProfile, info: &Arc<ServerInfo>, lists: &Lists) -> bool {
        let variant = ViewVariant { profile, info: Arc::clone(info), lists: Arc::new(lists.clone()), lock: None };
        self.remember(variant.clone()).await;
        let main = self.view.load_full();
        let is_useful = match profile.era {
            Era::Stateless => main.kind == BackendKind::Http || !misses_capability(&main.info, info),
            Era::Session => {
                if main.status == Status::Ready && main.lists.as_ref() != lists {
                    self.found_to_vary();
                }
                self.varies()
            }
        };
        self.replace(profile, is_useful.then_some(variant));
        self.settle(profile.era, is_useful);
        self.announce(profile);
        is_useful
    }

    /// Publishes what a stateless server lists for clients with these abilities, and saves it to the cache. Returns whether
    /// this is the first list that differs from `base`, what other clients see.
    pub(crate) async fn publish_set(
        &self,
        profile: ClientProfile,
        info: &Arc<ServerInfo>,
        lists: &Lists,
        base: &Lists,
    ) -> bool {
        let variant = ViewVariant { profile, info: Arc::clone(info), lists: Arc::new(lists.clone()), lock: None };
        self.remember(variant.clone()).await;
        let is_first = lists != base && self.found_to_vary();
        self.replace(profile, self.varies().then_some(variant));
        self.announce(profile);
        is_first
    }

    fn announce(&self, profile: ClientProfile) {
        self.published.send_if_modified(|published| {
            let is_new = !published.contains(&profile);
            if is_new {
                published.push(profile);
            }
            is_new
        });
    }

    /// The sets of abilities for which a stateless connection is listed.
    pub(crate) fn wanted_sets(&self) -> Vec<Abilities> {
        self.sets.lock().clone()
    }

    /// Lists for these abilities from the next listing on. Returns false if that is so already, or if there are too many
    /// sets: clients then see what is listed for a part of their abilities.
    pub(crate) fn want_set(&self, abilities: Abilities) -> bool {
        let mut sets = self.sets.lock();
        let is_new = abilities != Abilities::NONE && !sets.contains(&abilities) && sets.len() < MAX_SETS;
        if is_new {
            sets.push(abilities);
        }
        is_new
    }

    /// Whether it is known, if only from the cache, what stateless clients with these abilities see.
    pub(crate) fn knows_set(&self, abilities: Abilities) -> bool {
        let profile = ClientProfile { era: Era::Stateless, abilities };
        let is_shown = || self.view.load().variants.iter().any(|variant| variant.profile == profile);
        abilities == Abilities::NONE || is_shown() || (!self.varies() && self.compared.lock().contains_key(&profile))
    }

    /// Forgets what a stateless server listed by abilities. It is one no more.
    pub(crate) fn forget_sets(&self) {
        let is_set = |profile: &ClientProfile| profile.era == Era::Stateless && profile.abilities != Abilities::NONE;
        for abilities in std::mem::take(&mut *self.sets.lock()) {
            self.lists.forget(ClientProfile { era: Era::Stateless, abilities });
        }
        self.change(|variants| variants.retain(|variant| !is_set(&variant.profile)));
    }

    /// Whether the server lists other items for clients with other abilities.
    pub(crate) fn varies(&self) -> bool {
        self.varies.load(Ordering::Relaxed)
    }

    /// Whether it is known what clients of exactly this profile see.
    pub(crate) fn shows(&self, profile: ClientProfile) -> bool {
        self.lists.get(profile).is_some()
    }

    /// Whether it is known what clients of exactly this profile of a session see, by any process: they were listed, or
    /// lists do not depend on abilities.
    pub(crate) fn knows(&self, profile: ClientProfile) -> bool {
        // The only client has its roots, which shared connections have not.
        let own = self.environment.audience.profile().filter(|own| own.era == profile.era);
        let profile = own.map_or(profile, |own| ClientProfile { abilities: own.abilities.listed(), ..own });
        self.shows(profile) || self.was_compared(profile, |_| true)
    }

    /// The same for this version of the server.
    pub(crate) fn is_compared(&self, profile: ClientProfile, version: &str) -> bool {
        self.shows(profile) || self.was_compared(profile, |compared| compared == version)
    }

    fn was_compared(&self, profile: ClientProfile, is_version: impl Fn(&str) -> bool) -> bool {
        let is_for_all = || {
            let compared = self.all_compared.lock();
            profile.era == Era::Session && !self.varies() && compared.as_deref().is_some_and(&is_version)
        };
        self.compared.lock().get(&profile).is_some_and(|version| is_version(version)) || is_for_all()
    }

    /// Whether this version of the server could not be compared a short time ago.
    pub(crate) fn is_not_comparable(&self, version: &str) -> bool {
        let failed = self.not_compared.lock();
        failed.as_ref().is_some_and(|(of, since)| of == version && since.elapsed() < COMPARE_AGAIN)
    }

    /// Records that this version of the server could not be compared.
    pub(crate) fn could_not_compare(&self, version: &str) {
        *self.not_compared.lock() = Some((version.to_owned(), Instant::now()));
    }

    /// Remembers what clients of this profile see, and whether it is what others see.
    pub(crate) async fn compare(&self, profile: ClientProfile, info: &Arc<ServerInfo>, lists: &Lists) {
        self.compared.lock().insert(profile, info.version.clone());
        *self.all_compared.lock() = Some(info.version.clone());
        if self.view.load().lists.as_ref() != lists {
            self.found_to_vary();
        }
        self.remember(ViewVariant { profile, info: Arc::clone(info), lists: Arc::new(lists.clone()), lock: None })
            .await;
    }

    /// Records that the server lists by abilities. Returns false if that was known.
    fn found_to_vary(&self) -> bool {
        let is_new = !self.varies.swap(true, Ordering::Relaxed);
        if is_new {
            tracing::info!(server = %self.name, "lists different items depending on the client's capabilities");
        }
        is_new
    }

    /// Saves what clients see to the cache.
    async fn remember(&self, variant: ViewVariant) {
        self.save(move |cache, name, config| cache.save(name, config, variant)).await;
    }

    /// Waits until no other server is compared.
    pub(crate) async fn comparing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.environment.comparing.lock().await
    }

    /// Waits until the lists of this variant are published.
    pub(crate) async fn published(&self, profile: ClientProfile) {
        let mut published = self.published.subscribe();
        let _ = published.wait_for(|published| published.contains(&profile)).await;
    }

    /// The server does not speak the stateless era.
    async fn has_no_stateless_leg(&self) {
        self.save(|cache, name, config| {
            cache.change(name, config, |known| {
                if !known.absent.contains(&Era::Stateless) {
                    known.absent.push(Era::Stateless);
                }
                known.entries.retain(|entry| entry.profile.era != Era::Stateless);
            })
        })
        .await;
        self.replace(ClientProfile::STATELESS, None);
        self.forget_sets();
        self.settle(Era::Stateless, false);
    }

    /// A connection of this era could not be opened. Returns what its callers are told: a stateless leg that this process has
    /// never seen is as good as none for them, until it has.
    pub(crate) async fn not_opened(&self, era: Era, error: ConnectError) -> ConnectError {
        match error {
            ConnectError::NoSuchEra => self.has_no_stateless_leg().await,
            ConnectError::LoginNeeded(_) | ConnectError::HeldElsewhere(_) => return error,
            ConnectError::Failed(_) if era == Era::Session || self.stateless_leg() == LegState::Known(true) => {
                return error;
            }
            ConnectError::Failed(reason) => {
                tracing::debug!(server = %self.name, "cannot open a stateless connection: {reason}");
                self.replace(ClientProfile::STATELESS, None);
                self.forget_sets();
                self.stateless.send_replace(LegState::Unknown);
            }
        }
        ConnectError::NoSuchEra
    }

    /// The main connection serves clients of both eras, and there is no other leg.
    pub(crate) fn main_serves_all(&self) {
        self.replace(ClientProfile::STATELESS, None);
        self.settle(Era::Stateless, false);
    }

    fn settle(&self, era: Era, is_used: bool) {
        if era == Era::Stateless {
            self.stateless.send_replace(LegState::Known(is_used));
        }
    }

    fn replace(&self, profile: ClientProfile, variant: Option<ViewVariant>) {
        self.change(|variants| {
            variants.retain(|other| other.profile != profile);
            variants.extend(variant.clone());
        });
    }

    fn change(&self, change: impl Fn(&mut Vec<ViewVariant>)) {
        let before = self.view.rcu(|view| {
            let mut variants = Vec::clone(&view.variants);
            change(&mut variants);
            match variants == *view.variants {
                true => Arc::clone(view),
                false => Arc::new(BackendView { variants: Arc::new(variants), ..BackendView::clone(view) }),
            }
        });
        if before.variants != self.view.load().variants {
            self.environment.changes.notify_one();
        }
    }

    /// Changes the cache. Completes when the change is on disk.
    async fn save(&self, change: impl FnOnce(&Cache, &str, &ServerConfig) -> std::io::Result<()> + Send + 'static) {
        self.environment.cache.write(&self.name, &self.config, change).await;
    }
}
