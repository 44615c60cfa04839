//! The surface of a user with restrictions: a copy without the items that the policies deny. To its clients, denied
//! items do not exist: every method answers as for an unknown item.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;

use super::published_item::PublishedItem;
use super::published_surface::{Items, Surface};
use proxy_base::memory;
use proxy_builtins::SkippedItem;
use proxy_identity::cedar::{AccessCaller, AccessItem, AccessRequest, Decision, Listed, Policies, PolicyAction};
use proxy_model::{ClientInfo, ItemKind, ItemRef, PerKind, SurfaceKey};
use proxy_search::{SharedIndex, Tool};

/// Why items are not in a surface, for `proxy explain`.
const DENIED: &str = "the `cedar` policies do not permit this user to use it";

/// The policies that a surface was restricted by, and their decisions.
#[derive(Debug)]
pub(super) struct PermittedView {
    /// The surface before policies removed items.
    pub(super) base: Arc<Surface>,
    policies: Arc<Policies>,
    key: SurfaceKey,
    /// The items whose decision depends on arguments, by kind and key.
    undecided: HashSet<(ItemKind, String)>,
    /// Which tools of the surface's search indexes are listed, by the address of the index.
    indexes: Mutex<HashMap<usize, Arc<[bool]>>>,
}

impl Surface {
    /// The surface without the items that policies deny this user and client. Blocks for some milliseconds if there are
    /// many decisions.
    pub fn permitted_to(self: &Arc<Self>, policies: &Arc<Policies>, key: &SurfaceKey) -> Surface {
        let before = memory::balance();
        let mut view = PermittedView {
            base: Arc::clone(self),
            policies: Arc::clone(policies),
            key: key.clone(),
            undecided: HashSet::new(),
            indexes: Mutex::default(),
        };
        let mut denied = Vec::new();
        let items = PerKind::make(|kind| self.permitted_items(kind, &mut view, &mut denied));
        let skipped = denied.iter().filter_map(|entry| entry.source());
        let why: Arc<str> = DENIED.into();
        let mut skipped: Vec<SkippedItem> =
            skipped.map(|item| SkippedItem { item: item.clone(), why: Arc::clone(&why), site: None }).collect();
        if !skipped.is_empty() {
            skipped.splice(0..0, self.skipped().iter().cloned());
        }
        let servers = self.servers_of(&items, &view);
        let mut surface = self.with_items(items, skipped, view);
        surface.keep_instructions_of(&servers);
        surface.set_bytes(memory::balance().wrapping_sub(before).max(0).unsigned_abs());
        surface
    }

    /// The servers with at least one item that the caller may use.
    fn servers_of(&self, items: &PerKind<Items>, view: &PermittedView) -> HashSet<Arc<str>> {
        let published = items.iter().flat_map(|items| items.entries.values()).filter_map(|entry| entry.source());
        let mut servers: HashSet<Arc<str>> = published.map(|source| Arc::clone(&source.backend)).collect();
        for index in self.indexes() {
            let listed = view.listed_of(index);
            let tools = index.tools().zip(listed.iter()).filter(|(_, listed)| **listed);
            servers.extend(tools.map(|(tool, _)| Arc::clone(&tool.server)));
        }
        servers
    }

    fn permitted_items(&self, kind: ItemKind, view: &mut PermittedView, denied: &mut Vec<Arc<PublishedItem>>) -> Items {
        let items = self.items(kind);
        let asked: Vec<AccessItem<'_>> = items.entries.values().map(|entry| access_item(entry)).collect();
        let decisions = view.policies.list(view.caller(), &asked);
        let mut entries = indexmap::IndexMap::default();
        for ((key, entry), listed) in items.entries.iter().zip(decisions) {
            if let Some((carrier, _)) = entry.carrier.as_ref().filter(|_| entry.is_carrier()) {
                let listed = view.listed_of(&carrier.index);
                let own = entry.carrying(&listed).map_or_else(|| Arc::clone(entry), Arc::new);
                entries.insert(key.clone(), own);
                continue;
            }
            if listed == Listed::DependsOnArguments {
                view.undecided.insert((kind, key.clone()));
            }
            match listed.is_listed() {
                true => drop(entries.insert(key.clone(), Arc::clone(entry))),
                false => denied.push(Arc::clone(entry)),
            }
        }
        let listed = items.listed_keys();
        Items::of(entries, |entry| listed.contains(entry.definition.key()))
    }

    /// The surface before policies removed items.
    pub fn unrestricted(self: &Arc<Self>) -> Arc<Self> {
        self.permitted.as_ref().map_or_else(|| Arc::clone(self), |permitted| Arc::clone(&permitted.base))
    }

    /// The policy decision about a server's item without arguments, for example `permitted by a.cedar:3`. `None` without
    /// policies.
    pub fn policy_reason(&self, item: &ItemRef) -> Option<String> {
        let permitted = self.permitted.as_ref()?;
        let named = self.named(item);
        let made = permitted.base.find(item.kind, &item.name).filter(|_| item.backend.is_empty());
        if made.is_some_and(PublishedItem::is_carrier) {
            return Some("the policies decide about each tool that it calls".to_owned());
        }
        let item = made.map(access_item).unwrap_or(AccessItem {
            action: PolicyAction::of(item.kind),
            id: &named.name,
            server: &item.backend,
            original: &item.name,
            definition: named.definition.as_deref(),
        });
        let caller = permitted.caller();
        let listed = permitted.policies.list(caller, &[item]);
        let decision = permitted.policies.decide(&AccessRequest { caller, item, arguments: None, via: "" });
        let ids = decision.policies().join(", ");
        Some(match (&decision, listed.first()) {
            (_, Some(Listed::DependsOnArguments)) => "its arguments decide whether the policies permit it".to_owned(),
            (Decision::Allowed { .. }, _) => format!("permitted by {ids}"),
            (Decision::Denied { .. }, _) if ids.is_empty() => "no policy permits it".to_owned(),
            (Decision::Denied { .. }, _) => format!("forbidden by {ids}"),
        })
    }

    /// Whether policies hide an item that is published to others.
    pub fn hides(&self, kind: ItemKind, key: &str) -> bool {
        self.permitted.as_ref().is_some_and(|permitted| {
            let published = permitted.base.published_key(kind, key);
            permitted.base.items(kind).entries.contains_key(published)
                && !self.items(kind).entries.contains_key(published)
        })
    }

    /// The item under this name or URI that policies hide.
    pub fn hidden(&self, kind: ItemKind, key: &str) -> Option<&PublishedItem> {
        if !self.hides(kind, key) {
            return None;
        }
        self.permitted.as_ref()?.base.find(kind, key)
    }

    /// Whether these policies allow every use of a listed item, regardless of arguments.
    pub fn is_decided(&self, policies: &Policies, caller: AccessCaller<'_>, entry: &PublishedItem, key: &str) -> bool {
        let is_own_key = entry.definition.key() == key;
        self.permitted.as_ref().is_some_and(|permitted| {
            permitted.policies.number() == policies.number()
                && permitted.is_for(caller)
                && is_own_key
                && !permitted.undecided.contains(&(entry.kind, key.to_owned()))
        })
    }

    /// Whether the surface was restricted by policies for one caller.
    pub fn is_permitted_view(&self) -> bool {
        self.permitted.is_some()
    }

    /// Which tools of a search index of this surface are listed, by position; `None` if all of them are.
    pub(super) fn listed_of(&self, index: &Arc<SharedIndex>) -> Option<Arc<[bool]>> {
        self.permitted.as_ref().map(|permitted| permitted.listed_of(index))
    }

    /// Which tools of the search index at this address are listed. `None` if it is not known, or the index is not of this
    /// surface: another one may have the address later.
    pub fn remembered_index(&self, address: usize, policies: &Policies) -> Option<Arc<[bool]>> {
        let permitted = self.permitted.as_ref().filter(|view| view.policies.number() == policies.number())?;
        permitted.indexes.lock().get(&address).cloned()
    }

    /// Remembers which tools of a search index are listed, if it is an index of this surface.
    pub fn remember_index(&self, address: usize, policies: &Policies, listed: &Arc<[bool]>) {
        let is_own = self.indexes().iter().any(|index| Arc::as_ptr(index).addr() == address);
        let permitted = self.permitted.as_ref().filter(|view| view.policies.number() == policies.number());
        if let Some(permitted) = permitted.filter(|_| is_own) {
            permitted.indexes.lock().insert(address, Arc::clone(listed));
        }
    }
}

impl PermittedView {
    /// Whether the view was made for a caller with the same attributes, as far as the policies read them.
    fn is_for(&self, caller: AccessCaller<'_>) -> bool {
        let client = |client: &ClientInfo| (client.name(), client.version());
        let is_same_client = || client(&self.key.client) == client(caller.client);
        self.key.principal == *caller.principal && (!self.policies.reads_client() || is_same_client())
    }

    fn caller(&self) -> AccessCaller<'_> {
        AccessCaller { principal: &self.key.principal, client: &self.key.client }
    }

    /// Which tools of an index of the base are listed.
    fn listed_of(&self, index: &Arc<SharedIndex>) -> Arc<[bool]> {
        let address = Arc::as_ptr(index).addr();
        let is_own = self.base.indexes().iter().any(|own| Arc::ptr_eq(own, index));
        if let Some(known) = self.indexes.lock().get(&address).filter(|_| is_own) {
            return Arc::clone(known);
        }
        let asked: Vec<AccessItem<'_>> = index.tools().map(tool_item).collect();
        let listed = self.policies.list(self.caller(), &asked);
        let listed: Arc<[bool]> = listed.into_iter().map(Listed::is_listed).collect();
        if is_own {
            self.indexes.lock().insert(address, Arc::clone(&listed));
        }
        listed
    }
}

/// A published item as policies are asked about it.
pub(super) fn access_item(entry: &PublishedItem) -> AccessItem<'_> {
    let source = entry.source();
    AccessItem {
        action: PolicyAction::of(entry.kind),
        id: entry.definition.key(),
        server: source.map_or("", |source| &source.backend),
        original: source.map_or("", |source| &source.name),
        definition: Some(&entry.definition),
    }
}

pub(crate) fn tool_item(tool: &Tool) -> AccessItem<'_> {
    AccessItem {
        action: PolicyAction::CallTool,
        id: tool.definition.key(),
        server: &tool.server,
        original: &tool.original_name,
        definition: Some(&tool.definition),
    }
}

impl PublishedItem {
    /// The item as policies are asked about it, under the name or URI of a request.
    pub fn access_item<'a>(&'a self, key: &'a str) -> AccessItem<'a> {
        AccessItem { id: key, ..access_item(self) }
    }
}
