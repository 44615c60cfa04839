//! The tools of a surface as the clients of each row get them, and the way back from their names and arguments.

use std::sync::Arc;

use super::definitions;
use super::listing::Listing;
use super::logged_warnings;
use super::per_row::RowListing;
use super::published_item::PublishedItem;
use super::published_surface::Surface;
use proxy_dialects::{Dialect, DialectTool, Dialects, Lowered, RowNames, lower};
use proxy_json::{Object, Raw};
use proxy_model::{ClientInfo, ItemKind};
use proxy_wire::Revision;

/// What became of the tools for the clients of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoweredCount {
    pub row: Arc<str>,
    pub lowered: usize,
}

impl PublishedItem {
    /// The tool as clients of this row get it, whatever else is listed.
    pub fn lowered(&self, dialects: &Dialects, dialect: &Dialect) -> Option<&Lowered> {
        if self.kind != ItemKind::Tool || !dialect.changes_tools() {
            return None;
        }
        self.lowered.get_or_init(dialects.rows().len(), dialect.index(), || lower(dialect, &self.dialect_tool()))
    }

    fn dialect_tool(&self) -> DialectTool<'_> {
        let source = self.source();
        let key = self.definition.key();
        DialectTool {
            definition: &self.definition,
            server: source.map_or("", |source| &source.backend),
            original: source.map_or(key, |source| &source.name),
            without_list: self.without_signatures.as_deref(),
        }
    }
}

impl Surface {
    /// What clients accept.
    pub fn dialects(&self) -> &Arc<Dialects> {
        self.run.build_inputs.dialects()
    }

    /// What this client accepts; `None` if it is not known.
    pub fn dialect_of(&self, client: &ClientInfo) -> Option<&Arc<Dialect>> {
        self.dialects().row_of(client)
    }

    /// Whether the script read what clients accept.
    pub fn reads_row(&self) -> bool {
        self.run.reads_row && self.dialects().is_on()
    }

    /// The short names of a row. Those of hidden tools count: what a name means does not depend on who uses it.
    fn row_names(&self, dialect: &Dialect) -> Option<&RowNames> {
        let base = self.permitted.as_ref().map_or(self, |permitted| &permitted.base);
        base.names.get_or_init(base.dialects().rows().len(), dialect.index(), || {
            let is_published = |name: &str| base.tool(name).is_some();
            RowNames::of(dialect, base.tools().map(PublishedItem::dialect_tool), is_published)
        })
    }

    /// Why clients of this row do not get a tool; `None` if they do.
    pub fn left_out(&self, dialect: &Dialect, entry: &PublishedItem) -> Option<String> {
        let shared = self.row_names(dialect)?.left_out(entry.definition.key()).map(str::to_owned);
        shared.or_else(|| entry.lowered(self.dialects(), dialect)?.conflict.clone())
    }

    /// The published name or URI of an item that a client of this row, or a user interface, knows by another one; otherwise
    /// the key itself. Published names come first.
    pub fn key_for<'a>(&'a self, dialect: Option<&Dialect>, kind: ItemKind, key: &'a str) -> &'a str {
        let published = self.published_key(kind, key);
        let Some(dialect) = dialect.filter(|dialect| dialect.own_name_length().is_some()) else { return published };
        if kind != ItemKind::Tool || self.tool(published).is_some() {
            return published;
        }
        // A caller does not learn the name of a tool that is hidden.
        let named = self.row_names(dialect).and_then(|names| names.published(key));
        named.filter(|name| self.tool(name).is_some()).unwrap_or(published)
    }

    /// The arguments of a call under their published names; `None` if they have them already.
    ///
    /// # Errors
    /// If two arguments mean the same one.
    pub fn published_arguments(
        &self,
        dialect: Option<&Dialect>,
        tool: &str,
        params: &Object<'_>,
    ) -> Result<Option<Raw>, String> {
        let Some(lowered) = self.lowered_tool(dialect, tool) else { return Ok(None) };
        lowered.arguments_of(params)
    }

    /// A published tool as clients of this row get it.
    pub fn lowered_tool(&self, dialect: Option<&Dialect>, tool: &str) -> Option<&Lowered> {
        let dialect = dialect?;
        self.tool(tool)?.lowered(self.dialects(), dialect)
    }

    /// Whether the list of tools for the clients of a row has been made.
    pub fn has_lowered(&self, dialect: &Dialect, revision: Revision) -> bool {
        let position = position(dialect, revision);
        !dialect.changes_tools() || self.items(ItemKind::Tool).lowered_for.made().any(|(made, _)| made == position)
    }

    /// The list of tools for the clients of a row, made if it has to be: that takes some milliseconds for a thousand tools.
    pub(super) fn row_listing(&self, dialect: &Dialect, revision: Revision) -> Option<&RowListing> {
        if !dialect.changes_tools() {
            return None;
        }
        let lists = &self.items(ItemKind::Tool).lowered_for;
        let count = self.dialects().rows().len() * Revision::SUPPORTED.len();
        lists.get_or_init(count, position(dialect, revision), || self.make_row_listing(dialect, revision))
    }

    /// Makes the list of tools for the clients of a row, so that a request finds it.
    pub fn prepare_list(&self, dialect: &Dialect, revision: Revision) {
        self.row_listing(dialect, revision);
    }

    fn make_row_listing(&self, dialect: &Dialect, revision: Revision) -> RowListing {
        let items = self.items(ItemKind::Tool);
        let mut lowered = 0;
        let mut is_complete = true;
        let mut tools = Vec::with_capacity(items.listed.len());
        for (index, published) in items.listed.items() {
            let Some((key, entry)) = items.entries.get_index(index) else { continue };
            if let Some(why) = self.left_out(dialect, entry) {
                is_complete = false;
                let warning = format!("`{key}` is not listed for clients of the row `{}`: {why}", dialect.row);
                if logged_warnings::is_new(&warning) {
                    tracing::warn!("{warning}");
                }
                continue;
            }
            let own = entry.lowered(self.dialects(), dialect).and_then(Lowered::text);
            if own.is_some() {
                lowered += 1;
            }
            tools.push((index, definitions::tool_for(revision, own.map_or(published, |own| own.get()))));
        }
        if lowered > 0 {
            let message = format!("clients of the row `{}` get {lowered} tools in another form", dialect.row);
            if logged_warnings::is_new(&message) {
                tracing::info!("{message}; `proxy check --client {}` tells what is different", dialect.row);
            }
        }
        let is_same = is_complete && lowered == 0;
        let listing = || Listing::new(tools.iter().map(|(index, text)| (*index, text.as_ref())));
        let listing = if is_same { None } else { Some(listing()) };
        RowListing { listing, lowered, bytes: self.bytes_for_row(dialect) }
    }

    /// The memory of the tools as clients of a row get them: this surface's part of it, as items are shared.
    fn bytes_for_row(&self, dialect: &Dialect) -> usize {
        let of_item = |entry: &Arc<PublishedItem>| {
            let lowered = entry.lowered.made().find(|(row, _)| *row == dialect.index());
            let bytes = lowered.map_or(0, |(_, lowered)| lowered.bytes());
            // Surfaces for single callers share the items of one that nobody lists.
            bytes / Arc::strong_count(entry).saturating_sub(1).max(1)
        };
        self.items(ItemKind::Tool).entries.values().map(of_item).sum()
    }

    /// How many tools differ for each row of which a client has listed.
    pub(crate) fn lowered_counts(&self) -> impl Iterator<Item = LoweredCount> {
        self.items(ItemKind::Tool).lowered_for.made().filter_map(|(position, list)| {
            let dialect = self.dialects().rows().get(position / Revision::SUPPORTED.len())?;
            Some(LoweredCount { row: Arc::clone(&dialect.row), lowered: list.lowered })
        })
    }

    /// The memory of the tools as clients of rows get them. Lists come first, except for the few tools of clients that call
    /// without a list.
    pub(super) fn lowered_bytes(&self) -> usize {
        let mut of_rows = vec![0; self.dialects().rows().len()];
        for (position, list) in self.items(ItemKind::Tool).lowered_for.made() {
            // The lists of a row in several revisions share the tools.
            if let Some(bytes) = of_rows.get_mut(position / Revision::SUPPORTED.len()) {
                *bytes = list.bytes.max(*bytes);
            }
        }
        of_rows.iter().sum()
    }

    /// What decides, beside a list itself, how clients see it: the forms of tools, and whether results have pages to read.
    pub(super) fn forms(&self, kind: ItemKind) -> [&str; 2] {
        let limits = self.run.build_inputs.result_limits();
        // A server without resources is shown as it is: nobody was told of changes of such lists.
        let lacks_resources = || self.mirrors().is_some_and(|only| only.info.capabilities.get("resources").is_none());
        match kind {
            ItemKind::Tool => [self.dialects().digest(), limits],
            // The rows say which clients have a limit, and so pages to read.
            ItemKind::ResourceTemplate if !lacks_resources() => [self.dialects().digest(), limits],
            ItemKind::Resource | ItemKind::ResourceTemplate | ItemKind::Prompt => ["", ""],
        }
    }

    /// The listings that were made for rows.
    pub(super) fn row_listings(&self) -> impl Iterator<Item = &Listing> {
        self.items(ItemKind::Tool).lowered_for.made().filter_map(|(_, list)| list.listing.as_ref())
    }
}

/// The position of a list among those of all rows and revisions.
fn position(dialect: &Dialect, revision: Revision) -> usize {
    dialect.index() * Revision::SUPPORTED.len() + revision as usize
}
