//! The script's surfaces, by catalog and requester. A script that does not read its user or client has one per catalog.

use std::collections::HashMap;
use std::sync::Arc;

use super::requester::profile;
use crate::backtest::recording::CallLine;
use proxy_engine::surface::{BuildError, ScriptSource, Surface};
use proxy_identity::cedar::Policies;
use proxy_model::{Snapshot, SnapshotVariant, SurfaceCacheKey, SurfaceKey};

pub(super) struct ReplaySurfaces {
    script: ScriptSource,
    policies: Option<Arc<Policies>>,
    built: HashMap<BuiltKey, Result<Arc<Surface>, BuildError>>,
}

/// The number of the catalog, the variant of it that the client sees, and the client if the script asked for it.
type BuiltKey = (usize, Option<SnapshotVariant>, Option<SurfaceCacheKey>);

impl ReplaySurfaces {
    pub(super) fn new(script: ScriptSource, policies: Option<Arc<Policies>>) -> Self {
        ReplaySurfaces { script, policies, built: HashMap::new() }
    }

    /// What the script publishes to the client of a call.
    pub(super) fn of(
        &mut self,
        call: &CallLine,
        number: usize,
        catalog: &Arc<Snapshot>,
    ) -> Result<Arc<Surface>, BuildError> {
        let variant = catalog.variant(profile(call));
        if let Some(shared) = self.built.get(&(number, variant.clone(), None)) {
            return shared.clone();
        }
        let key = SurfaceKey::of(call.user.principal(), call.client.client_info());
        let personal_key = (number, variant.clone(), Some(key.cache_key()));
        if let Some(personal) = self.built.get(&personal_key) {
            return personal.clone();
        }
        let seen = match &variant {
            Some(variant) => Arc::new(catalog.with_variant(variant)),
            None => Arc::clone(catalog),
        };
        let mut surface = self.script.build_for(&seen, key.clone()).map(Arc::new);
        if let (Ok(all), Some(policies)) = (&surface, &self.policies) {
            surface = Ok(Arc::new(all.permitted_to(policies, &key)));
        }
        let is_for_all = |surface: &Arc<Surface>| {
            surface.personal().is_none() && !surface.reads_row() && !surface.is_permitted_view()
        };
        let is_shared = surface.as_ref().is_ok_and(is_for_all);
        let key = if is_shared { (number, variant, None) } else { personal_key };
        self.built.insert(key, surface.clone());
        surface
    }

    /// The error of a script that ran for nobody.
    pub(super) fn failure(&self) -> Option<&BuildError> {
        if self.built.values().any(Result::is_ok) {
            return None;
        }
        self.built.values().find_map(|built| built.as_ref().err())
    }
}
