//! Resource subscriptions in a session under test. The test's clock decides which resources are due, and nothing runs
//! in the background: resources are refreshed when the test calls `updates()`.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{Map, json};
use starlark::eval::Evaluator;

use super::test_session::TestSession;
use proxy_engine::calls::{RefreshTarget, Refreshed};
use proxy_json::Raw;
use proxy_model::ItemKind;
use proxy_script::{LogLevel, ScriptError};

/// The followed resources by URI.
pub(crate) type FollowedResources = Arc<Mutex<IndexMap<String, LastRefresh>>>;

/// The last refresh of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRefresh {
    contents: Option<Raw>,
    error: Option<String>,
    /// On the clock of the test.
    at: Duration,
}

impl TestSession {
    /// Follows a resource as a client does that subscribes to it.
    pub(crate) fn follow(&self, uri: &str, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<()> {
        let surface = &self.request.surface;
        let Some(entry) = surface.find(ItemKind::Resource, uri) else {
            return Err(self.unknown_item(ItemKind::Resource, uri).into());
        };
        if self.calls.subscribe_permit(&self.request, entry, surface.published_key(ItemKind::Resource, uri)).is_err() {
            return Err(self.unknown_item(ItemKind::Resource, uri).into());
        }
        self.other_request("resources/subscribe", uri, &json!({ "uri": uri }), eval)?;
        let Some(target) = self.calls.refresh_target(surface, uri) else {
            return Err(ScriptError::new(format!("`{uri}` is not refreshed, so it has no updates in a test"))
                .hint("give it an interval: `refresh = 5` in `Resource(...)` or `publish_resource(...)`")
                .into());
        };
        let (last, _) = self.refreshed(uri, &target, LastRefresh::default(), eval)?;
        self.followed.lock().insert(uri.to_owned(), last);
        Ok(())
    }

    /// Follows a resource no longer.
    pub(crate) fn unfollow(&self, uri: &str) -> Result<(), ScriptError> {
        match self.followed.lock().shift_remove(uri) {
            Some(_) => Ok(()),
            None => {
                Err(ScriptError::new(format!("`{uri}` is not followed")).hint(format!("`s.follow(\"{uri}\")` first")))
            }
        }
    }

    /// Refreshes the followed resources whose interval has passed. Returns the URIs of those that have changed.
    pub(crate) fn updates(&self, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<Vec<String>> {
        let followed: Vec<(String, LastRefresh)> =
            self.followed.lock().iter().map(|(uri, last)| (uri.clone(), last.clone())).collect();
        let mut updated = Vec::new();
        for (uri, last) in followed {
            let Some(target) = self.calls.refresh_target(&self.request.surface, &uri) else { continue };
            if self.time() < last.at + target.interval {
                continue;
            }
            let (last, is_changed) = self.refreshed(&uri, &target, last, eval)?;
            self.followed.lock().insert(uri.clone(), last);
            if is_changed {
                updated.push(uri);
            }
        }
        Ok(updated)
    }

    fn time(&self) -> Duration {
        Duration::from_micros(self.world.clock.micros())
    }

    /// Runs the handler, and returns whether its result is another one than before. A failure is logged once.
    fn refreshed(
        &self,
        uri: &str,
        target: &RefreshTarget,
        before: LastRefresh,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> starlark::Result<(LastRefresh, bool)> {
        let at = self.time();
        let (calls, request, source) = (self.calls.clone(), self.request.clone(), target.source.clone());
        let refreshed = {
            let uri = uri.to_owned();
            self.world.exchange.wait_for(eval, async move { calls.refresh(&request, &uri, &source).await })?
        };
        let Some(Refreshed { result, .. }) = refreshed else { return Ok((LastRefresh { at, ..before }, false)) };
        match result {
            Ok(contents) => {
                let is_changed = before.contents.as_deref().is_none_or(|known| known.get() != contents.get());
                Ok((LastRefresh { contents: Some(contents), error: None, at }, is_changed))
            }
            Err(error) => {
                if before.error.as_ref() != Some(&error)
                    && let Some(overrides) = &self.calls.test_overrides
                {
                    let message = format!("a resource that clients follow cannot be refreshed: {error}");
                    let fields: Map<String, serde_json::Value> =
                        [("resource".to_owned(), json!(uri))].into_iter().collect();
                    overrides.log(LogLevel::Warning, &message, &fields);
                }
                Ok((LastRefresh { error: Some(error), at, ..before }, false))
            }
        }
    }
}
