//! The gauges of a running proxy: values at one moment, as opposed to counters.

use std::sync::Arc;

use crate::gateway::Gateway;
use crate::gateway::surfaces::View;
use crate::surface::{LoweredCount, Surface};
use proxy_mcp_client::ServerLoad;
use proxy_model::{BackendKind, BackendView, Definition, ItemKind, Snapshot, Status};
use proxy_search::estimate_tokens;

/// The state of a proxy in numbers.
#[derive(Debug)]
pub struct Gauges {
    pub servers: Vec<ServerGauges>,
    /// The number of published items by kind.
    pub published: [(ItemKind, usize); ItemKind::ALL.len()],
    /// What clients of each profile get, as far as somebody has used it.
    pub profiles: Vec<ProfileGauges>,
    /// The estimated size of the definitions of tools, as servers offer them and as they are published.
    pub definition_tokens: Vec<DefinitionTokens>,
    /// How many tools differ for each row, as far as a client of it has listed.
    pub lowered: Vec<LoweredCount>,
    /// Operations that failed because of the store itself.
    pub store_errors: u64,
    /// Whether the files on disk could not be used, so that older ones are in force.
    pub reload_failed: bool,
}

/// The state of one profile.
#[derive(Debug)]
pub struct ProfileGauges {
    pub name: Arc<str>,
    /// The number of published items by kind.
    pub published: [(ItemKind, usize); ItemKind::ALL.len()],
}

/// The state of one server.
#[derive(Debug)]
pub struct ServerGauges {
    pub name: Arc<str>,
    pub is_up: bool,
    /// Whether it does not run because nothing needs it.
    pub rests: bool,
    pub restarts: u64,
    pub load: ServerLoad,
}

/// What the definitions of tools cost in the context of a model.
#[derive(Debug)]
pub struct DefinitionTokens {
    /// `None` for what the script made itself.
    pub server: Option<Arc<str>>,
    pub offered: usize,
    pub published: usize,
}

impl Gateway {
    pub fn gauges(&self) -> Gauges {
        let current = self.top().current.borrow().clone();
        let is_failing = self.views.in_use().iter().any(|view| view.current.borrow().error.is_some());
        let reload_failed = {
            let status = self.reload_status.lock();
            !status.config_errors.is_empty()
                || !status.policy_errors.is_empty()
                || status.unreadable_script.is_some()
                || is_failing
        };
        let snapshot = self.snapshot();
        let servers = snapshot.backends.iter().filter(|backend| backend.kind != BackendKind::Extension);
        Gauges {
            servers: servers
                .map(|backend| ServerGauges {
                    name: Arc::clone(&backend.name),
                    is_up: matches!(backend.status, Status::Ready | Status::PerPerson),
                    rests: backend.status == Status::Resting && backend.error.is_empty(),
                    restarts: self.installed.restarts(&backend.name).unwrap_or_default(),
                    load: self.installed.load(&backend.name).unwrap_or_default(),
                })
                .collect(),
            definition_tokens: definition_tokens(&snapshot, current.surface.as_deref()),
            store_errors: self.calls().store.errors(),
            published: listed(current.surface.as_deref()),
            profiles: self.profile_gauges(),
            lowered: with_all_rows(self.lowered(), current.surface.as_deref()),
            reload_failed,
        }
    }
}

/// How many items of each kind a surface lists.
fn listed(surface: Option<&Surface>) -> [(ItemKind, usize); ItemKind::ALL.len()] {
    ItemKind::ALL.map(|kind| (kind, surface.map_or(0, |surface| surface.listed(kind))))
}

impl Gateway {
    fn profile_gauges(&self) -> Vec<ProfileGauges> {
        let of_view = |view: &Arc<View>| {
            let name = Arc::clone(view.profile()?);
            let surface = view.current.borrow().surface.clone();
            Some(ProfileGauges { name, published: listed(surface.as_deref()) })
        };
        let mut profiles: Vec<ProfileGauges> = self.views.in_use().iter().filter_map(of_view).collect();
        profiles.sort_by(|one, other| one.name.cmp(&other.name));
        profiles
    }

    /// How many tools differ for each row of which a client has listed; the most where callers see different ones.
    pub(in crate::gateway) fn lowered(&self) -> Vec<LoweredCount> {
        let of_view = |view: &Arc<View>| {
            let shared = view.current.borrow().surface.clone();
            shared.into_iter().chain(view.surfaces.built()).collect::<Vec<_>>()
        };
        let mut all: Vec<LoweredCount> = Vec::new();
        for surface in self.views.in_use().iter().flat_map(of_view) {
            for count in surface.lowered_counts() {
                match all.iter_mut().find(|known| known.row == count.row) {
                    Some(known) => known.lowered = known.lowered.max(count.lowered),
                    None => all.push(count),
                }
            }
        }
        all
    }
}

/// The counts, with a zero for each other row.
fn with_all_rows(mut counts: Vec<LoweredCount>, surface: Option<&Surface>) -> Vec<LoweredCount> {
    let rows = surface.map_or(&[][..], |surface| surface.dialects().rows());
    for dialect in rows {
        if counts.iter().all(|count| count.row != dialect.row) {
            counts.push(LoweredCount { row: Arc::clone(&dialect.row), lowered: 0 });
        }
    }
    counts
}

fn definition_tokens(snapshot: &Snapshot, surface: Option<&Surface>) -> Vec<DefinitionTokens> {
    let tokens = |definition: &Definition| estimate_tokens(definition.raw().get());
    let of_server = |backend: &Arc<BackendView>| DefinitionTokens {
        server: Some(Arc::clone(&backend.name)),
        offered: backend.lists.tools.iter().map(|tool| tokens(tool)).sum(),
        published: 0,
    };
    let mut all: Vec<_> = snapshot.backends.iter().map(of_server).collect();
    all.push(DefinitionTokens { server: None, offered: 0, published: 0 });
    for tool in surface.into_iter().flat_map(Surface::tools) {
        let origin = tool.origin.as_ref().map(|origin| &origin.backend);
        if let Some(counted) = all.iter_mut().find(|counted| counted.server.as_ref() == origin) {
            counted.published += tokens(&tool.definition);
        }
    }
    all
}
