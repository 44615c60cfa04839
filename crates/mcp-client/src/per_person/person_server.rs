//! A server as one person uses it.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::account::PersonalAccount;
use crate::call::{Backend, ConnectedBackend, PersonBackend};
use crate::connection::{Audience, Cache, CredentialsSource, Environment, StartPolicy};
use crate::handle::{Handle, StopOnDrop, start};
use proxy_config::ServerConfig;
use proxy_json::{Raw, raw};
use proxy_model::{BackendView, ClientProfile, Credentials, ItemKind, Owner, Status};

/// Maximum time that the first client of a profile waits.
const PREPARATION_TIMEOUT: Duration = Duration::from_secs(2);
/// The shortest time between two attempts to connect in spite of a refusal.
const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The connections of one person to a server, and the lists received on them. The lists are kept in memory only.
#[derive(Debug)]
pub(super) struct PersonServer {
    server: StopOnDrop,
    started: Instant,
    last_used: Mutex<Instant>,
    /// Changes with the view.
    version: watch::Receiver<u64>,
    follower: JoinHandle<()>,
    /// The client profiles for which the server has been listed.
    prepared: Mutex<Vec<ClientProfile>>,
    /// When it was last tried to connect in spite of a refusal. Held meanwhile.
    tried: tokio::sync::Mutex<Instant>,
    /// The person's own account; `None` if the proxy gets what it shows without the person.
    account: Option<PersonalAccount>,
    /// The last view that waited for the log-in, and what is shown of it.
    waiting: Mutex<Option<(Arc<BackendView>, Arc<BackendView>)>>,
}

impl PersonServer {
    pub(super) fn start(
        name: &str,
        config: &ServerConfig,
        environment: &Environment,
        credentials: Arc<dyn Credentials>,
        account: Option<PersonalAccount>,
    ) -> Self {
        let changes = Arc::new(Notify::new());
        let own = Environment {
            credentials: CredentialsSource::new(move |_, _| Some(Arc::clone(&credentials))),
            // No cache: one person's lists must not be shown to anybody else, not even after a restart.
            cache: Cache::default(),
            changes: Arc::clone(&changes),
            audience: Audience::new(false),
            start: StartPolicy::All,
            comparing: Arc::default(),
            lists_answered: Default::default(),
            ..environment.clone()
        };
        let (sender, version) = watch::channel(0);
        let all = Arc::clone(&environment.person_changes);
        let follower = tokio::spawn(async move {
            loop {
                changes.notified().await;
                sender.send_modify(|version| *version += 1);
                all.notify_one();
            }
        });
        let started = Instant::now();
        PersonServer {
            server: StopOnDrop::new(start(name, config, &own)),
            started,
            last_used: Mutex::new(started),
            version,
            follower,
            prepared: Mutex::default(),
            tried: tokio::sync::Mutex::new(started),
            account,
            waiting: Mutex::default(),
        }
    }

    pub(super) fn account(&self) -> Option<&PersonalAccount> {
        self.account.as_ref()
    }

    /// What the person sees while the server waits for the log-in: the same as long as nothing changes.
    fn waiting_view(&self, account: &PersonalAccount, view: Arc<BackendView>) -> Arc<BackendView> {
        let mut waiting = self.waiting.lock();
        if let Some((_, shown)) = waiting.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &view)) {
            return Arc::clone(shown);
        }
        let shown = Arc::new(account.waiting_view(&view));
        *waiting = Some((view, Arc::clone(&shown)));
        shown
    }

    /// Connects at once with a log-in that was made just now, if nobody else does.
    pub(super) async fn reconnect_after_log_in(&self) {
        if self.server.view().status != Status::Login {
            return;
        }
        let _tried = self.tried.lock().await;
        if self.server.view().status == Status::Login {
            self.handle().restart().await;
        }
    }

    pub(super) fn handle(&self) -> &Handle {
        self.server.handle()
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    pub(super) fn idle_time(&self) -> Duration {
        if self.handle().load().running > 0 { Duration::ZERO } else { self.last_used.lock().elapsed() }
    }
}

impl PersonBackend for PersonServer {
    fn logged_in(&self, tool: &str) -> Option<Raw> {
        let account = self.account.as_ref().filter(|account| account.tool_name == tool)?;
        let view = self.server.view();
        (view.status != Status::Login).then(|| raw(&account.logged_in(&view)))
    }

    fn view(&self) -> Arc<BackendView> {
        let view = self.server.view();
        match &self.account {
            Some(account) if view.status == Status::Login => self.waiting_view(account, view),
            _ => view,
        }
    }

    fn is_settled(&self) -> bool {
        self.server.view().status != Status::Starting
    }

    fn settled(&self, at_most: Duration) -> BoxFuture<'_, ()> {
        let settled = async move {
            let mut version = self.version.clone();
            let known = version.wait_for(|_| self.is_settled());
            let _ = tokio::time::timeout_at(self.started + at_most, known).await;
        };
        if self.is_settled() { std::future::ready(()).boxed() } else { settled.boxed() }
    }

    fn prepare<'a>(&'a self, profile: ClientProfile, person: &'a Owner) -> BoxFuture<'a, ()> {
        let profile = profile.prepared();
        if profile == ClientProfile::SESSION || self.prepared.lock().contains(&profile) {
            return std::future::ready(()).boxed();
        }
        let prepared = async move {
            // What is found out later is published then.
            let _ = tokio::time::timeout(PREPARATION_TIMEOUT, self.handle().prepare(profile, person)).await;
            let mut prepared = self.prepared.lock();
            if !prepared.contains(&profile) {
                prepared.push(profile);
            }
        };
        prepared.boxed()
    }

    fn refresh(&self, kind: ItemKind, profile: ClientProfile) -> BoxFuture<'_, ()> {
        self.handle().refresh(kind, profile)
    }

    fn retry_refused(&self) -> BoxFuture<'_, ()> {
        if self.server.view().status != Status::Login {
            return std::future::ready(()).boxed();
        }
        if let Some(account) = &self.account {
            // Without another log-in it would be refused again. One that was made just now is not waited for any longer.
            let reconnect = async move {
                if !account.is_connected().await {
                    return;
                }
                let mut tried = self.tried.lock().await;
                let is_too_soon = *tried != self.started && tried.elapsed() < MIN_RETRY_INTERVAL;
                if !is_too_soon && self.server.view().status == Status::Login {
                    *tried = Instant::now();
                    self.handle().restart().await;
                }
            };
            return reconnect.boxed();
        }
        let retry = async move {
            let mut tried = self.tried.lock().await;
            // The first attempt is that of this very request.
            if *tried == self.started && tried.elapsed() < MIN_RETRY_INTERVAL {
                *tried = Instant::now();
                return;
            }
            tokio::time::sleep_until(*tried + MIN_RETRY_INTERVAL).await;
            // Somebody else may have tried meanwhile.
            if self.server.view().status == Status::Login {
                *tried = Instant::now();
                self.handle().restart().await;
            }
        };
        retry.boxed()
    }
}

impl Drop for PersonServer {
    fn drop(&mut self) {
        self.follower.abort();
    }
}
