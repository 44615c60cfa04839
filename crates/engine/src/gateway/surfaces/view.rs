//! A view: what the clients of one profile see, or those of the top level of the config.

use std::sync::Arc;

use tokio::sync::watch;

use super::Surfaces;
use crate::calls::PolicyNow;
use crate::gateway::rebuild::{Edition, SharedSurface};
use crate::surface::{BuildError, ScriptSource, Surface};
use proxy_base::diagnostic::Diagnostic;
use proxy_model::Snapshot;

/// The shared surface of a view, and the surfaces that are derived from it.
pub struct View {
    pub(in crate::gateway) current: watch::Receiver<SharedSurface>,
    pub(in crate::gateway) surfaces: Arc<Surfaces>,
    policy: PolicyNow,
    /// `None` for the top level.
    profile: Option<Arc<str>>,
    editions: watch::Receiver<Edition>,
}

impl View {
    /// The surfaces of a profile, derived from the shared one.
    pub(in crate::gateway) fn new(
        profile: Option<Arc<str>>,
        editions: watch::Receiver<Edition>,
        current: watch::Receiver<SharedSurface>,
        surfaces: Arc<Surfaces>,
    ) -> Self {
        let of_policy = current.clone();
        let policy = PolicyNow::new(move || of_policy.borrow().surface.as_ref().map(|now| Arc::clone(now.policy())));
        View { current, surfaces, policy, profile, editions }
    }

    /// The name of the profile; `None` for the top level.
    pub(in crate::gateway) fn profile(&self) -> Option<&Arc<str>> {
        self.profile.as_ref()
    }

    /// Whether nothing is built for this view any more.
    pub(in crate::gateway) fn is_over(&self) -> bool {
        self.current.has_changed().is_err()
    }

    /// The state of the shared surface, with every later change.
    pub fn watch(&self) -> watch::Receiver<SharedSurface> {
        self.current.clone()
    }

    /// Looks up the present session script of this view.
    pub fn policy(&self) -> &PolicyNow {
        &self.policy
    }

    /// Whether clients may see something of this server.
    pub fn shows(&self, server: &str) -> bool {
        self.editions.borrow().shows(self.profile.as_ref(), server)
    }

    /// The part of a snapshot that clients may see something of.
    pub(in crate::gateway) fn shown(&self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        self.script().map_or(snapshot.clone(), |script| script.shown(&snapshot))
    }

    /// The newest script.
    fn script(&self) -> Option<Arc<ScriptSource>> {
        self.editions.borrow().script_of(self.profile.as_ref()).cloned()
    }

    /// Whether list requests need not wait for servers without known lists.
    pub fn has_first_lists(&self) -> bool {
        self.current.borrow().has_first_lists
    }

    /// Whether no server that is still starting could add unknown items.
    pub fn has_all_servers(&self) -> bool {
        let now = self.current.borrow();
        now.has_first_lists && !now.is_starting
    }

    /// Waits until every server without known lists is ready, has failed, or has not started within `serve.firstList`.
    /// Returns at once if the script has failed for good.
    pub async fn first_lists(&self) {
        // Fails only if there will be no lists: the proxy stops, or the profile was removed.
        let _ = self.current.clone().wait_for(|now| now.has_first_lists || now.error.is_some()).await;
    }

    /// The shared surface, which the script builds for no particular client. Fails if the script has never run
    /// successfully.
    pub async fn shared(&self) -> Result<Arc<Surface>, Arc<BuildError>> {
        if let Some(surface) = self.current.borrow().surface.clone() {
            return Ok(surface);
        }
        let mut current = self.current.clone();
        let stopped = || Arc::new(Diagnostic::error("the proxy is shutting down, or the profile was removed").into());
        let current =
            current.wait_for(|now| now.surface.is_some() || now.error.is_some()).await.map_err(|_| stopped())?;
        match (&current.surface, &current.error) {
            (Some(surface), _) => Ok(Arc::clone(surface)),
            (None, Some(error)) => Err(Arc::clone(error)),
            (None, None) => Err(stopped()),
        }
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("View")
    }
}
