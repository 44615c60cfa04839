//! [`Surface`] itself: made from a plan, then only read. Finds the item of a call, and gives out the lists and their pages.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::apps::Apps;
use super::build::BuildInputs;
use super::list_digests::ListDigests;
use super::listing::{Listing, Page};
use super::mirror::mirrored;
use super::narrowed_listings::{NarrowedListings, Narrowing};
use super::per_row::{PerRow, RowListing};
use super::permitted::PermittedView;
use super::published_item::PublishedItem;
use super::published_names::PublishedNames;
use super::run_data::{RunData, next_run};
use super::server_items::ServerItems;
use super::skipped::SkippedItems;
use super::version::SurfaceVersion;
use super::{definitions, logged_warnings};
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::{Handler, Hook, OtherHook, Plan, Published, SkippedItem};
use proxy_dialects::{Dialect, RowNames};
use proxy_model::{BackendView, ItemKind, PerKind, Snapshot};
use proxy_script::LogLine;
use proxy_search::{IndexCache, SharedIndex, Tool};
use proxy_wire::Revision;

/// Items by their names or URIs, which every call looks up several times: hence the faster hash.
type Entries = IndexMap<String, Arc<PublishedItem>, foldhash::fast::RandomState>;

/// The published items of one kind, in the script's order.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) entries: Entries,
    pub(super) listed: Listing,
    /// The listing for each revision, if it differs from `listed`. Made on the first request of a client of that
    /// revision.
    listed_for: [OnceLock<Option<Listing>>; Revision::SUPPORTED.len()],
    /// The listings without output schemas. Made on the first request that needs one.
    narrowed: NarrowedListings,
    /// The tools for each row and revision.
    pub(super) lowered_for: PerRow<RowListing>,
    /// The backends of the listed items; `None` stands for items that the script defines.
    origins: HashSet<Option<Arc<str>>>,
}

impl Items {
    /// Items of a failed server are not listed, but can still be called: a call reconnects the server.
    fn new(kind: ItemKind, published: Vec<Published>, failed_servers: &[&str]) -> Self {
        let entries: Entries = published
            .into_iter()
            .map(|item| (item.definition.key().to_owned(), Arc::new(PublishedItem::new(kind, item))))
            .collect();
        let is_listed = |entry: &PublishedItem| {
            entry.origin.as_ref().is_none_or(|origin| !failed_servers.contains(&origin.backend.as_ref()))
        };
        Self::of(entries, is_listed)
    }

    /// The items. Only those for which `is_listed` returns true are listed.
    pub(super) fn of(entries: Entries, is_listed: impl Fn(&PublishedItem) -> bool) -> Self {
        let backend = |entry: &PublishedItem| entry.origin.as_ref().map(|origin| Arc::clone(&origin.backend));
        let listed = || entries.values().enumerate().filter(|(_, entry)| is_listed(entry));
        let origins = listed().map(|(_, entry)| backend(entry)).collect();
        let listed = Listing::new(listed().map(|(index, entry)| (index, entry.definition.raw().get())));
        let narrowed = NarrowedListings::default();
        Items { entries, listed, listed_for: Default::default(), narrowed, lowered_for: PerRow::default(), origins }
    }

    /// The keys of the listed items.
    pub(super) fn listed_keys(&self) -> HashSet<&str> {
        let key = |(index, _)| self.entries.get_index(index).map(|(key, _)| key.as_str());
        self.listed.items().filter_map(key).collect()
    }
}

/// Removes `execution` from a tool that cannot run as a task although it says so: a script's handler, or a tool of a server
/// without tasks.
fn without_tasks(mut item: Published, snapshot: &Snapshot) -> Published {
    let has_tasks = |name: &str| snapshot.backend(name).is_some_and(|backend| backend.info.has_session_tasks());
    let allows_tasks = || {
        let execution = item.definition.member("execution").unwrap_or_default();
        execution["taskSupport"] != "forbidden"
    };
    if item.definition.raw().get().contains("\"execution\"")
        && allows_tasks()
        && !matches!(&item.handler, Handler::Backend(target) if has_tasks(&target.backend))
        && let Ok(plain) = item.definition.with(ItemKind::Tool, &[("execution", None)])
    {
        item.definition = Arc::new(plain);
    }
    item
}

/// Everything that a client is served: the items of one run of the session script, and their listings.
#[derive(Debug)]
pub struct Surface {
    pub run: Arc<RunData>,
    items: PerKind<Items>,
    skipped: SkippedItems,
    instructions: String,
    apps: Apps,
    pub warnings: Vec<Diagnostic>,
    /// What the script logged while it ran.
    pub log: Vec<LogLine>,
    /// Names of the items of servers, for policies. Made when policies first ask.
    pub(super) server_items: OnceLock<ServerItems>,
    /// Under which names items of servers are published. Made when flow rules first ask.
    pub(super) published_names: OnceLock<PublishedNames>,
    /// Set if the surface was restricted by policies for one caller.
    pub(super) permitted: Option<PermittedView>,
    digests: OnceLock<ListDigests>,
    /// The short names of tools for each row.
    pub(super) names: PerRow<RowNames>,
    /// The memory that was taken to build it and not given back, without its lists.
    bytes: usize,
}

impl Surface {
    pub(crate) fn new(plan: Plan, snapshot: &Snapshot, namespace: Arc<str>, build_inputs: BuildInputs) -> Self {
        let mirrors = mirrored(&plan, snapshot);
        let (apps, conflicts) = Apps::of(&plan);
        for warning in &conflicts {
            if logged_warnings::is_new(&warning.message) {
                tracing::warn!("{warning}");
            }
        }
        let server_instructions = || match &mirrors {
            Some(only) => only.info.instructions.clone(),
            None => joined_instructions(snapshot, |_| true),
        };
        let failed = snapshot.backends.iter().filter(|backend| backend.status.is_down());
        let failed: Vec<&str> = failed.map(|backend| backend.name.as_ref()).collect();
        let annotation = memchr::memmem::Finder::new("x-mcp-header");
        let has_param_headers = plan.items.tools.iter().any(|tool| {
            let text = tool.definition.raw().get().as_bytes();
            // The key may contain `\u` escapes.
            annotation.find(text).is_some() || memchr::memmem::find(text, b"\\u").is_some()
        });
        // A client of a mirrored server sees that server's capabilities, and reads its tools by them. A stateless server
        // has no tasks of this kind.
        let mirrors_tasks = mirrors.as_ref().is_some_and(|only| {
            Revision::parse(&only.info.protocol_version).is_some_and(|revision| !revision.is_stateless())
        });
        let as_declared = |item| if mirrors_tasks { item } else { without_tasks(item, snapshot) };
        let PerKind { tools, resources, resource_templates, prompts } = plan.items;
        let items = PerKind {
            tools: Items::new(ItemKind::Tool, tools.into_iter().map(as_declared).collect(), &failed),
            resources: Items::new(ItemKind::Resource, resources, &failed),
            resource_templates: Items::new(ItemKind::ResourceTemplate, resource_templates, &failed),
            prompts: Items::new(ItemKind::Prompt, prompts, &failed),
        };
        let has_own_instructions = plan.instructions.is_some();
        let instructions = plan.instructions.unwrap_or_else(server_instructions);
        let run = RunData {
            number: next_run(),
            has_param_headers,
            snapshot: snapshot.version,
            namespace,
            has_own_instructions,
            mirrors,
            indexes: plan.indexes,
            labels: plan.labels,
            on_request: plan.on_request,
            on_other_request: plan.on_other_request,
            build_inputs,
            is_personal: plan.personal,
            reads_row: plan.reads_row,
            version: SurfaceVersion::new(&plan.digest, snapshot),
        };
        Surface {
            warnings: plan.warnings.into_iter().chain(conflicts).collect(),
            log: plan.log,
            ..Surface::view(Arc::new(run), items, plan.skipped.into(), instructions, apps)
        }
    }

    /// A view of a run, without what was warned and logged in it.
    fn view(run: Arc<RunData>, items: PerKind<Items>, skipped: SkippedItems, instructions: String, apps: Apps) -> Self {
        Surface {
            run,
            items,
            skipped,
            instructions,
            apps,
            warnings: Vec::new(),
            log: Vec::new(),
            server_items: OnceLock::new(),
            published_names: OnceLock::new(),
            permitted: None,
            digests: OnceLock::new(),
            names: PerRow::default(),
            bytes: 0,
        }
    }

    /// The same run with other items.
    pub(super) fn with_items(
        &self,
        items: PerKind<Items>,
        skipped: Vec<SkippedItem>,
        permitted: PermittedView,
    ) -> Self {
        let has_tool = |name: &str| items.tools.entries.contains_key(name);
        let apps = self.apps.only(has_tool, |uri| items.resources.entries.contains_key(uri));
        let skipped = if skipped.is_empty() { self.skipped.clone() } else { skipped.into() };
        let view = Surface::view(Arc::clone(&self.run), items, skipped, self.instructions.clone(), apps);
        Surface { permitted: Some(permitted), ..view }
    }

    /// Leaves out the instructions of other servers, unless the script has set its own.
    pub(super) fn keep_instructions_of(&mut self, servers: &HashSet<Arc<str>>) {
        if self.run.has_own_instructions {
            return;
        }
        match &self.run.mirrors {
            Some(only) if servers.contains(&only.name) => {}
            Some(_) => self.instructions.clear(),
            None => {
                self.instructions = joined_instructions(self.run.build_inputs.snapshot(), |name| servers.contains(name))
            }
        }
    }

    pub(super) fn indexes(&self) -> &[Arc<SharedIndex>] {
        &self.run.indexes
    }

    /// Sets how much memory building the surface took. The memory of lists is counted separately, because surfaces share
    /// it.
    pub(super) fn set_bytes(&mut self, taken: usize) {
        let unshared = ItemKind::ALL.iter().map(|kind| &self.items(*kind).listed.text);
        let unshared = unshared.filter(|text| text.share() == text.len());
        self.bytes = taken.saturating_sub(unshared.map(|text| text.len()).sum());
    }

    /// The memory that the surface takes: what was measured when it was built, and its part of the lists.
    pub fn bytes(&self) -> usize {
        let texts = ItemKind::ALL.iter().flat_map(|kind| {
            let items = self.items(*kind);
            let converted = items.listed_for.iter().filter_map(|listing| listing.get()?.as_ref());
            let texts = converted.chain([&items.listed]).map(|listing| listing.text.share());
            texts.chain([items.narrowed.bytes()])
        });
        // A surface that was made for one user alone is kept by what policies leave of it.
        let base =
            self.permitted.as_ref().filter(|_| self.run.is_personal).map_or(0, |permitted| permitted.base.bytes());
        let of_rows = self.row_listings().map(|listing| listing.text.share());
        base + self.bytes + self.lowered_bytes() + texts.chain(of_rows).sum::<usize>()
    }

    /// What distinguishes the lists of this surface from those of others.
    pub fn list_digests(&self) -> ListDigests {
        *self.digests.get_or_init(|| ListDigests::of(|kind| self.list(kind), |kind| self.forms(kind)))
    }

    /// The digest of the script, its loaded modules and its settings.
    pub fn policy(&self) -> &Arc<str> {
        &self.run.version.policy
    }

    /// The digest of everything that the servers listed when the surface was built.
    pub fn catalog(&self) -> &str {
        self.run.version.catalog()
    }

    /// What is needed to build the surface for other clients. `None` if the script did not read the principal or the
    /// client, so that all clients share this surface.
    pub fn personal(&self) -> Option<&BuildInputs> {
        self.run.is_personal.then_some(&self.run.build_inputs)
    }

    /// The profile that the surface is for; `None` at the top level.
    pub fn profile(&self) -> Option<&Arc<str>> {
        self.run.build_inputs.profile()
    }

    /// What is needed to build the surface for clients that see something else of the servers.
    pub fn origin(&self) -> &BuildInputs {
        &self.run.build_inputs
    }

    /// The script's function that runs before every call of an item.
    pub(crate) fn on_request(&self) -> Option<&Hook> {
        self.run.on_request.as_ref()
    }

    /// The script's function that runs before requests that are not for an item.
    pub(crate) fn on_other_request(&self) -> Option<&OtherHook> {
        self.run.on_other_request.as_ref()
    }

    pub(super) fn items(&self, kind: ItemKind) -> &Items {
        self.items.of(kind)
    }

    /// Whether any tool may require `Mcp-Param-*` headers.
    pub fn has_param_headers(&self) -> bool {
        self.run.has_param_headers
    }

    /// The published name or URI of an item for which a user interface uses another one; otherwise the key itself.
    pub fn published_key<'a>(&'a self, kind: ItemKind, key: &'a str) -> &'a str {
        if self.items(kind).entries.contains_key(key) { key } else { self.alias(kind, key).unwrap_or(key) }
    }

    /// The published name or URI of the item that a user interface calls by this key.
    fn alias(&self, kind: ItemKind, key: &str) -> Option<&str> {
        match kind {
            ItemKind::Tool => self.apps.tool(key),
            ItemKind::Resource => self.apps.resource(key),
            ItemKind::ResourceTemplate | ItemKind::Prompt => None,
        }
    }

    /// The item published under this name or URI, or the one that a user interface knows by it.
    fn exact(&self, kind: ItemKind, key: &str) -> Option<&PublishedItem> {
        let entries = &self.items(kind).entries;
        let found = entries.get(key).or_else(|| entries.get(self.alias(kind, key)?));
        found.map(Arc::as_ref)
    }

    /// The tool published under this name, or the tool that a user interface calls by this name.
    pub fn tool(&self, name: &str) -> Option<&PublishedItem> {
        self.exact(ItemKind::Tool, name)
    }

    pub fn tools(&self) -> impl Iterator<Item = &PublishedItem> {
        self.entries(ItemKind::Tool)
    }

    /// The published items of one kind, in the script's order.
    pub fn entries(&self, kind: ItemKind) -> impl Iterator<Item = &PublishedItem> {
        self.items(kind).entries.values().map(Arc::as_ref)
    }

    /// The server items that were skipped with a known reason.
    pub fn skipped(&self) -> &[SkippedItem] {
        &self.skipped
    }

    /// The item that a request names. For a resource this is the item with that URI, or else the first template that the
    /// URI matches.
    pub fn find(&self, kind: ItemKind, key: &str) -> Option<&PublishedItem> {
        let exact = self.exact(kind, key);
        if exact.is_some() || kind != ItemKind::Resource || self.hides(kind, key) {
            return exact;
        }
        // Policies decide about each URI of a template, whether the template is listed or not.
        let all = self.permitted.as_ref().map_or(self, |permitted| &permitted.base);
        all.items.resource_templates.entries.values().map(Arc::as_ref).find(|entry| entry.variables(key).is_some())
    }

    /// The JSON array of the listed items.
    pub fn list(&self, kind: ItemKind) -> &str {
        &self.items(kind).listed.text
    }

    /// The list for clients of one revision and row.
    fn listing(&self, kind: ItemKind, (revision, dialect): (Revision, Option<&Dialect>)) -> &Listing {
        let items = self.items(kind);
        if kind != ItemKind::Tool {
            return &items.listed;
        }
        let of_row = dialect.and_then(|dialect| self.row_listing(dialect, revision));
        if let Some(listing) = of_row.and_then(|list| list.listing.as_ref()) {
            return listing;
        }
        let converted = &items.listed_for[revision as usize];
        converted.get_or_init(|| definitions::tools_for(revision, &items.listed)).as_ref().unwrap_or(&items.listed)
    }

    /// A page of the listed items for clients of one revision and row, after the item with the key `after` or from the
    /// start. Returns `None` if that key is no longer published.
    pub fn page(
        &self,
        kind: ItemKind,
        form: (Revision, Option<&Dialect>),
        after: Option<&str>,
        size: usize,
    ) -> Option<Page<'_>> {
        let after = self.position_of(kind, after)?;
        Some(self.listing(kind, form).page(after, size))
    }

    /// A page of the listed tools, where those for which `narrowing` says so have no output schema.
    pub fn page_of_tools(
        &self,
        form: (Revision, Option<&Dialect>),
        narrowing: Narrowing<'_>,
        after: Option<&str>,
        size: usize,
    ) -> Option<Page<'_>> {
        let after = self.position_of(ItemKind::Tool, after)?;
        let listing = self.listing(ItemKind::Tool, form);
        let name = |index| self.key_at(ItemKind::Tool, index).unwrap_or_default();
        let (revision, dialect) = form;
        let form = (revision, dialect.map(Dialect::index));
        let narrowed = &self.items(ItemKind::Tool).narrowed;
        Some(narrowed.page(form, narrowing, listing, name, |listing| listing.page(after, size)))
    }

    /// Where a page begins: after the item with this key. `None` if it is no longer published.
    fn position_of(&self, kind: ItemKind, after: Option<&str>) -> Option<Option<usize>> {
        match after {
            Some(key) => Some(Some(self.items(kind).entries.get_index_of(key)?)),
            None => Some(None),
        }
    }

    /// The key of the published item with this index.
    pub fn key_at(&self, kind: ItemKind, index: usize) -> Option<&str> {
        self.items(kind).entries.get_index(index).map(|(key, _)| key.as_str())
    }

    /// The backends of the listed items; `None` stands for items that the script defines.
    pub fn origins(&self, kind: ItemKind) -> impl Iterator<Item = Option<&Arc<str>>> {
        self.items(kind).origins.iter().map(Option::as_ref)
    }

    /// The only server, if the surface publishes all of its items unchanged and nothing else.
    pub fn mirrors(&self) -> Option<&BackendView> {
        self.run.mirrors.as_deref()
    }

    /// The server of a resource that is not published: the only server, or the server whose tool has this resource as
    /// its user interface.
    pub fn owner_of_unlisted(&self, uri: &str) -> Option<&Arc<str>> {
        if self.hides(ItemKind::Resource, uri) {
            return None;
        }
        self.run.mirrors.as_ref().map(|only| &only.name).or_else(|| self.apps.owner(uri))
    }

    /// The number of listed items of one kind.
    pub fn listed(&self, kind: ItemKind) -> usize {
        self.items(kind).listed.len()
    }

    /// The search index: the first index that the script created, or else an index of all published tools.
    pub fn search_index(&self) -> Arc<SharedIndex> {
        if let Some(first) = self.run.indexes.first() {
            return match self.listed_of(first) {
                Some(listed) => {
                    let tools = first.tools().zip(listed.iter()).filter(|(_, listed)| **listed);
                    IndexCache::shared().index(tools.map(|(tool, _)| tool.clone()).collect(), first.embedder().cloned())
                }
                None => Arc::clone(first),
            };
        }
        let tools = self.tools().map(|entry| Tool {
            server: entry.origin.as_ref().map_or_else(|| "".into(), |origin| Arc::clone(&origin.backend)),
            original_name: entry.origin.as_ref().map_or_else(|| "".into(), |origin| Arc::clone(&origin.name)),
            definition: Arc::clone(&entry.definition),
        });
        IndexCache::shared().index(tools.collect(), self.run.build_inputs.embedder().cloned())
    }

    /// The tools that a client can find by search, published or not.
    pub fn searchable(&self) -> impl Iterator<Item = &Tool> {
        self.run.indexes.iter().flat_map(|index| {
            let listed = self.listed_of(index);
            let is_listed = move |position: usize| {
                listed.as_ref().is_none_or(|listed| listed.get(position).copied().unwrap_or(false))
            };
            index.tools().enumerate().filter(move |(position, _)| is_listed(*position)).map(|(_, tool)| tool)
        })
    }

    pub fn instructions(&self) -> &str {
        &self.instructions
    }
}

/// The instructions of all servers, each under its name.
fn joined_instructions(snapshot: &Snapshot, is_told: impl Fn(&Arc<str>) -> bool) -> String {
    let parts: Vec<String> = snapshot
        .backends
        .iter()
        .filter(|backend| !backend.status.is_down() && !backend.info.instructions.trim().is_empty())
        .filter(|backend| is_told(&backend.name))
        .map(|backend| format!("# {}\n\n{}", backend.name, backend.info.instructions.trim()))
        .collect();
    parts.join("\n\n")
}
