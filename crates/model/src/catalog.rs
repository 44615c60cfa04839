//! A snapshot of all backends.

use std::sync::Arc;

use super::{BackendView, ClientProfile, ServerInfo, Status};

/// All backends in config order. Immutable: every change makes a new snapshot.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub version: u64,
    /// The generation of the set of backends.
    pub generation: u64,
    pub backends: Vec<Arc<BackendView>>,
}

impl Snapshot {
    pub fn backend(&self, name: &str) -> Option<&Arc<BackendView>> {
        self.backends.iter().find(|backend| backend.name.as_ref() == name)
    }

    /// The snapshot with some of the backends only. The same one, if these are all.
    #[must_use]
    pub fn reduced(self: &Arc<Self>, is_shown: impl Fn(&str) -> bool) -> Arc<Self> {
        if self.backends.iter().all(|backend| is_shown(&backend.name)) {
            return Arc::clone(self);
        }
        let backends = self.backends.iter().filter(|backend| is_shown(&backend.name)).cloned().collect();
        Arc::new(Snapshot { version: self.version, generation: self.generation, backends })
    }

    /// What clients of this profile see differently. `None` if they see this snapshot.
    pub fn variant(&self, profile: ClientProfile) -> Option<SnapshotVariant> {
        let differing = self.backends.iter().enumerate().filter(|(_, backend)| !backend.variants.is_empty());
        let chosen: Vec<_> =
            differing.filter_map(|(index, backend)| Some((index, backend.variant(profile)?.profile))).collect();
        (!chosen.is_empty()).then_some(SnapshotVariant(chosen))
    }

    /// The snapshot that clients of a variant see. A backend that no longer has the variant is seen as by everybody.
    #[must_use]
    pub fn with_variant(&self, variant: &SnapshotVariant) -> Self {
        let mut backends = self.backends.clone();
        for (index, profile) in &variant.0 {
            let Some(backend) = backends.get_mut(*index) else { continue };
            let chosen = backend.variants.iter().find(|variant| variant.profile == *profile).cloned();
            if let Some(chosen) = chosen {
                *backend = Arc::new(backend.with_variant(&chosen));
            }
        }
        Snapshot { backends, ..self.clone() }
    }

    /// The snapshot that one person sees, with their own views of the servers that everybody sees differently.
    #[must_use]
    pub fn with_own(&self, own: &[Arc<BackendView>]) -> Self {
        let mut backends = self.backends.clone();
        for backend in backends.iter_mut().filter(|backend| backend.status == Status::PerPerson) {
            if let Some(seen) = own.iter().find(|seen| seen.name == backend.name) {
                *backend = Arc::clone(seen);
            }
        }
        Snapshot { backends, ..self.clone() }
    }

    /// What the backends say about themselves, to clients of any profile.
    pub fn infos(&self) -> impl Iterator<Item = &ServerInfo> {
        self.backends.iter().flat_map(|backend| {
            let variants = backend.variants.iter().map(|variant| variant.info.as_ref());
            std::iter::once(backend.info.as_ref()).chain(variants)
        })
    }

    /// Whether every backend is ready, has failed, or is known from the cache.
    pub fn is_settled(&self) -> bool {
        self.backends.iter().all(|backend| backend.status != Status::Starting)
    }

    /// The same, except for backends that did not start the last time either.
    pub fn is_settled_but_for_doubtful(&self) -> bool {
        self.backends.iter().all(|backend| backend.status != Status::Starting || backend.is_doubtful)
    }
}

/// The backends of a snapshot, by position, that some clients see differently, and as which clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotVariant(Vec<(usize, ClientProfile)>);
