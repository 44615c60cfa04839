//! What a client sees: the immutable result of one script run.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use serde_json::Value;

use super::apps::Apps;
use super::build::Origin;
use super::definitions;
use super::listing::{Listing, Page};
use super::mirror::mirrored;
use super::version::Version;
use crate::builtins::{Handler, Hook, Plan, Published};
use crate::diagnostic::Diagnostic;
use crate::json::Schema;
use crate::model::Snapshot;
use crate::model::{BackendView, Definition, ItemKind, ItemRef, Status, UriTemplate};
use crate::script::LogLine;
use crate::search::{IndexCache, SharedIndex, Tool};
use crate::wire::Revision;
use crate::wire::params;
use crate::wire::params::ParamHeader;

/// One published item, ready to be used.
#[derive(Debug)]
pub struct Entry {
    pub kind: ItemKind,
    pub definition: Arc<Definition>,
    pub handler: Handler,
    /// The backend's item it was made from, if any.
    pub origin: Option<ItemRef>,
    schemas: OnceLock<Schemas>,
    marked: OnceLock<Vec<ParamHeader>>,
    template: OnceLock<Option<UriTemplate>>,
}

#[derive(Debug)]
pub(crate) struct Schemas {
    pub(crate) input: Option<Schema>,
    pub(crate) output: Option<Schema>,
}

impl Entry {
    fn new(kind: ItemKind, item: Published) -> Self {
        Entry {
            kind,
            definition: item.definition,
            handler: item.handler,
            origin: item.origin,
            schemas: OnceLock::new(),
            marked: OnceLock::new(),
            template: OnceLock::new(),
        }
    }

    /// For a resource template: what its variables stand for in a URI that fits it.
    pub(crate) fn variables(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        self.template.get_or_init(|| UriTemplate::parse(self.definition.key())).as_ref()?.variables(uri)
    }

    /// Compiled when first needed: tools that are forwarded as they are never need it.
    pub(crate) fn schemas(&self) -> &Schemas {
        self.schemas
            .get_or_init(|| Schemas { input: self.compile("inputSchema"), output: self.compile("outputSchema") })
    }

    fn compile(&self, member: &str) -> Option<Schema> {
        let schema = self.definition.member(member)?;
        Schema::compile(&schema)
            .inspect_err(|error| tracing::warn!(tool = self.definition.key(), "`{member}` is not used: {error}"))
            .ok()
    }

    /// Which arguments a stateless client must repeat as headers.
    pub fn marked(&self) -> &[ParamHeader] {
        self.marked.get_or_init(|| {
            if memchr::memmem::find(self.definition.raw().get().as_bytes(), b"x-mcp-header").is_none() {
                return Vec::new();
            }
            self.definition.member("inputSchema").and_then(|schema| params::marked(&schema).ok()).unwrap_or_default()
        })
    }
}

/// The published items of one kind, in the script's order.
#[derive(Debug)]
struct Items {
    entries: IndexMap<String, Entry>,
    listed: Listing,
    /// The same as clients of each revision know it, where that differs; made when the first of them asks.
    told: [OnceLock<Option<Listing>>; Revision::SUPPORTED.len()],
    /// Where those that are listed come from; none for what the script made.
    origins: HashSet<Option<Arc<str>>>,
}

impl Items {
    /// An item of a server that is gone can still be used (which brings the server back), but is not offered.
    fn new(kind: ItemKind, published: Vec<Published>, gone: &[&str]) -> Self {
        let entries: IndexMap<String, Entry> =
            published.into_iter().map(|item| (item.definition.key().to_owned(), Entry::new(kind, item))).collect();
        let backend = |entry: &Entry| entry.origin.as_ref().map(|origin| Arc::clone(&origin.backend));
        let is_listed =
            |entry: &Entry| entry.origin.as_ref().is_none_or(|origin| !gone.contains(&origin.backend.as_ref()));
        let listed = || entries.values().enumerate().filter(|(_, entry)| is_listed(entry));
        let origins = listed().map(|(_, entry)| backend(entry)).collect();
        let listed = Listing::new(listed().map(|(place, entry)| (place, entry.definition.raw().get())));
        Items { entries, listed, told: Default::default(), origins }
    }
}

/// A handler is no task, whatever the server's own tool could be; nor is a tool of a server without tasks.
fn without_tasks(mut item: Published, snapshot: &Snapshot) -> Published {
    let has_tasks = |name: &str| snapshot.backend(name).is_some_and(|backend| backend.info.has_session_tasks());
    if item.definition.raw().get().contains("\"execution\"")
        && !matches!(&item.handler, Handler::Backend(target) if has_tasks(&target.backend))
        && let Ok(plain) = item.definition.with(ItemKind::Tool, &[("execution", None)])
    {
        item.definition = Arc::new(plain);
    }
    item
}

/// Everything that is published, and what the lists show of it.
#[derive(Debug)]
pub struct Surface {
    marked: bool,
    tools: Items,
    resources: Items,
    resource_templates: Items,
    prompts: Items,
    /// The snapshot it was made from.
    pub snapshot: u64,
    /// Under which its script keeps what it remembers.
    pub namespace: Arc<str>,
    instructions: String,
    /// The server that this is nothing but a view of.
    mirrors: Option<Arc<BackendView>>,
    apps: Apps,
    indexes: Vec<Arc<SharedIndex>>,
    /// What runs before everything that a client names.
    on_request: Option<Hook>,
    /// For whom else it would be made otherwise: what it was made of.
    personal: Option<Origin>,
    pub warnings: Vec<Diagnostic>,
    /// What the script logged while it ran.
    pub log: Vec<LogLine>,
    version: Version,
}

impl Surface {
    pub(crate) fn new(plan: Plan, snapshot: &Snapshot, namespace: Arc<str>, personal: Option<Origin>) -> Self {
        let mirrors = mirrored(&plan, snapshot);
        let (apps, clashes) = Apps::of(&plan);
        for clash in &clashes {
            tracing::warn!("{clash}");
        }
        let said = || match &mirrors {
            Some(only) => only.info.instructions.clone(),
            None => own_instructions(snapshot),
        };
        let failed = snapshot.backends.iter().filter(|backend| backend.status == Status::Failed);
        let gone: Vec<&str> = failed.map(|backend| backend.name.as_ref()).collect();
        let marks = memchr::memmem::Finder::new("x-mcp-header");
        let marked = plan.tools.iter().any(|tool| {
            let text = tool.definition.raw().get().as_bytes();
            // A key may be spelled with escapes.
            marks.find(text).is_some() || memchr::memmem::find(text, b"\\u").is_some()
        });
        let tools = plan.tools.into_iter().map(|item| without_tasks(item, snapshot)).collect();
        Surface {
            marked,
            tools: Items::new(ItemKind::Tool, tools, &gone),
            resources: Items::new(ItemKind::Resource, plan.resources, &gone),
            resource_templates: Items::new(ItemKind::ResourceTemplate, plan.resource_templates, &gone),
            prompts: Items::new(ItemKind::Prompt, plan.prompts, &gone),
            snapshot: snapshot.version,
            namespace,
            instructions: plan.instructions.unwrap_or_else(said),
            mirrors,
            apps,
            indexes: plan.indexes,
            on_request: plan.on_request,
            personal,
            warnings: plan.warnings.into_iter().chain(clashes).collect(),
            log: plan.log,
            version: Version::new(&plan.digest, snapshot),
        }
    }

    /// The digest of the script, of what it loaded and of its settings.
    pub fn policy(&self) -> &Arc<str> {
        &self.version.policy
    }

    /// The digest of all that the servers offered when it was made.
    pub fn catalog(&self) -> &str {
        self.version.catalog()
    }

    /// Where the script asked whom it runs for: what is needed to make the surface of others. None if everybody sees this.
    pub fn personal(&self) -> Option<&Origin> {
        self.personal.as_ref()
    }

    /// The script's function that runs before everything that a client names.
    pub(crate) fn on_request(&self) -> Option<&Hook> {
        self.on_request.as_ref()
    }

    fn items(&self, kind: ItemKind) -> &Items {
        match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Resource => &self.resources,
            ItemKind::ResourceTemplate => &self.resource_templates,
            ItemKind::Prompt => &self.prompts,
        }
    }

    /// Whether any tool may want arguments repeated as headers.
    pub fn has_marks(&self) -> bool {
        self.marked
    }

    /// The tool of that name, or the one whose interface calls it so.
    pub fn tool(&self, name: &str) -> Option<&Entry> {
        let entries = &self.tools.entries;
        entries.get(name).or_else(|| entries.get(self.apps.tool(name)?))
    }

    pub fn tools(&self) -> impl Iterator<Item = &Entry> {
        self.entries(ItemKind::Tool)
    }

    /// All that is published of a kind, in the script's order.
    pub fn entries(&self, kind: ItemKind) -> impl Iterator<Item = &Entry> {
        self.items(kind).entries.values()
    }

    /// What a request means by a key: for a resource the one of that URI, else the first template it fits.
    pub fn find(&self, kind: ItemKind, key: &str) -> Option<&Entry> {
        let exact = match kind {
            ItemKind::Tool => self.tool(key),
            _ => self.items(kind).entries.get(key),
        };
        if exact.is_some() || kind != ItemKind::Resource {
            return exact;
        }
        self.resource_templates.entries.values().find(|entry| entry.variables(key).is_some())
    }

    /// The JSON array of the listed items.
    pub fn list(&self, kind: ItemKind) -> &Arc<str> {
        &self.items(kind).listed.text
    }

    /// A page of the listed items for clients of one revision, behind the one of that key or from the start; none if
    /// there is no such key any more.
    pub fn page(&self, kind: ItemKind, revision: Revision, behind: Option<&str>, size: usize) -> Option<Page<'_>> {
        let items = self.items(kind);
        let told = match kind {
            ItemKind::Tool => {
                items.told[revision as usize].get_or_init(|| definitions::tools_for(revision, &items.listed)).as_ref()
            }
            _ => None,
        };
        let behind = match behind {
            Some(key) => Some(items.entries.get_index_of(key)?),
            None => None,
        };
        Some(told.unwrap_or(&items.listed).page(behind, size))
    }

    /// The key of what is published at a place.
    pub fn key_at(&self, kind: ItemKind, place: usize) -> Option<&str> {
        self.items(kind).entries.get_index(place).map(|(key, _)| key.as_str())
    }

    /// The backends that listed items come from; none stands for the script itself.
    pub fn origins(&self, kind: ItemKind) -> impl Iterator<Item = Option<&Arc<str>>> {
        self.items(kind).origins.iter().map(Option::as_ref)
    }

    /// The only server, where everything of it is published as it is and nothing else.
    pub fn mirrors(&self) -> Option<&BackendView> {
        self.mirrors.as_deref()
    }

    /// The server that knows a resource although it is not listed: the only one, or the one whose tool names it.
    pub fn owner_of_unlisted(&self, uri: &str) -> Option<&Arc<str>> {
        self.mirrors.as_ref().map(|only| &only.name).or_else(|| self.apps.owner(uri))
    }

    /// How many items of a kind a client is shown.
    pub fn listed(&self, kind: ItemKind) -> usize {
        self.items(kind).listed.len()
    }

    /// What the script searches: the first index that it made, else one over all that is published.
    pub fn search_index(&self) -> Arc<SharedIndex> {
        if let Some(first) = self.indexes.first() {
            return Arc::clone(first);
        }
        let tools = self.tools().map(|entry| Tool {
            server: entry.origin.as_ref().map_or_else(|| "".into(), |origin| Arc::clone(&origin.backend)),
            definition: Arc::clone(&entry.definition),
        });
        IndexCache::shared().index(tools.collect(), None)
    }

    pub fn instructions(&self) -> &str {
        &self.instructions
    }
}

/// What the servers say about themselves, each under its name.
fn own_instructions(snapshot: &Snapshot) -> String {
    let parts: Vec<String> = snapshot
        .backends
        .iter()
        .filter(|backend| backend.status != Status::Failed && !backend.info.instructions.trim().is_empty())
        .map(|backend| format!("# {}\n\n{}", backend.name, backend.info.instructions.trim()))
        .collect();
    parts.join("\n\n")
}

/// A tool's arguments as a value; absent ones are an empty object.
pub fn arguments_value(raw: Option<&crate::json::RawRef>) -> Result<Value, String> {
    match raw {
        Some(raw) => serde_json::from_str(raw.get()).map_err(|error| error.to_string()),
        None => Ok(Value::Object(serde_json::Map::new())),
    }
}
