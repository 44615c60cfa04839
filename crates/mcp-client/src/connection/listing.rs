//! Lists all pages of a server's items and leaves out malformed ones.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::api_tools;
use super::established::Connection;
use super::list_reports::{Reports, shown_size};
use crate::call::CacheHint;
use crate::transport::{Transport, TransportError};
use proxy_base::foreign_text::{has_hidden, visible};
use proxy_json::{Object, Raw, RawRef, quote};
use proxy_model::{Abilities, Definition, ItemKind};
use proxy_wire::params;

/// Limits for a server whose list never ends.
const MAX_PAGES: usize = 1000;
const MAX_ITEMS: usize = 100_000;
/// The maximum size of a definition. A larger one is left out.
const MAX_DEFINITION_BYTES: usize = 1 << 20;
/// Reports about such a definition show this many characters of its name.
const MAX_SHOWN_NAME: usize = 64;

/// How long clients that are not told of changes may use the tools of an API.
const API_TTL: Duration = Duration::from_secs(60);

/// The items of one kind that a server lists.
#[derive(Debug)]
pub(crate) struct ServerListing {
    pub(crate) items: Vec<Arc<Definition>>,
    /// Describes the items that were left out.
    pub(crate) reports: Vec<String>,
    /// The cache hint of a stateless server.
    pub(crate) cache_hint: Option<CacheHint>,
}

/// Lists all items of a kind, up to the server's `maxListBytes`, for clients with these abilities: a stateless server learns
/// them with the request.
pub(crate) async fn list(
    connection: &Connection,
    kind: ItemKind,
    abilities: Abilities,
) -> Result<ServerListing, TransportError> {
    if let Transport::Api(transport) = &connection.transport {
        let (items, reports) = api_tools::tools(&connection.server, transport, connection.max_list_bytes);
        return Ok(ServerListing { items, reports, cache_hint: Some(CacheHint { ttl: API_TTL, public: true }) });
    }
    let mut pages = Pages::new(connection, kind);
    let mut cache_hint = None::<CacheHint>;
    let (mut cursor, mut seen) = (None::<String>, HashSet::new());
    let method = kind.list_method();
    for _ in 0..MAX_PAGES {
        let body = match &cursor {
            Some(cursor) => format!("{{\"cursor\":{}}}", quote(cursor)),
            None => "{}".to_owned(),
        };
        let body = proxy_json::valid(body).map_err(|error| TransportError::Protocol(error.to_string()))?;
        let page = connection.request_for(abilities, method, &body).await?;
        cursor = pages.add(&page)?;
        if connection.is_stateless() {
            let hint = page_hint(&page);
            cache_hint = Some(cache_hint.map_or(hint, |before| before.and(hint)));
        }
        match &cursor {
            None => return Ok(pages.listing(cache_hint)),
            Some(cursor) if !seen.insert(cursor.clone()) => {
                pages.reports.conclude(format!("`{method}` repeats the cursor {}: the list ends there", quote(cursor)));
                return Ok(pages.listing(cache_hint));
            }
            Some(_) if pages.items.items.len() > MAX_ITEMS => break,
            Some(_) => {}
        }
    }
    let used = pages.items.items.len();
    pages.reports.conclude(format!("`{method}` has too many pages or items: only the first {used} items are used"));
    Ok(pages.listing(cache_hint))
}

/// The cache hint of a page. Missing or invalid members count as "do not cache" and "private".
fn page_hint(page: &RawRef) -> CacheHint {
    let Ok(page) = Object::of(page) else { return CacheHint::default() };
    let ttl = page.get("ttlMs").and_then(|ttl| ttl.get().parse().ok()).unwrap_or_default();
    CacheHint { ttl: Duration::from_millis(ttl), public: page.string("cacheScope").as_deref() == Some("public") }
}

/// Items of one kind with distinct, valid keys.
#[derive(Debug, Default)]
pub(super) struct UniqueItems {
    pub(crate) items: Vec<Arc<Definition>>,
    keys: HashSet<String>,
}

impl UniqueItems {
    /// Adds an item unless its name is invalid or already taken by another item.
    pub(crate) fn add(&mut self, kind: ItemKind, item: Definition) -> Result<(), String> {
        let key = item.key();
        if item.raw().get().len() > MAX_DEFINITION_BYTES {
            return Err(format!("it is larger than {MAX_DEFINITION_BYTES} bytes"));
        }
        if key.is_empty() {
            return Err("its name is empty".to_owned());
        }
        if key.chars().any(char::is_control) {
            return Err(format!("its name {} has control characters", quote(key)));
        }
        if matches!(kind, ItemKind::Tool | ItemKind::Prompt) && has_hidden(key) {
            return Err(format!("its name `{}` has invisible characters", visible(key)));
        }
        if !self.keys.insert(key.to_owned()) {
            return Err(format!("`{key}` is already listed"));
        }
        self.items.push(Arc::new(item));
        Ok(())
    }
}

/// The pages of a list, as they arrive.
struct Pages<'a> {
    connection: &'a Connection,
    kind: ItemKind,
    items: UniqueItems,
    reports: Reports,
    /// The size of all pages so far, whatever they contain: cursors and items that are left out take memory as well.
    bytes: usize,
}

impl<'a> Pages<'a> {
    fn new(connection: &'a Connection, kind: ItemKind) -> Self {
        Pages { connection, kind, items: UniqueItems::default(), reports: Reports::default(), bytes: 0 }
    }

    /// Adds the items of a page and returns the cursor of the next page. An empty cursor is valid; its absence ends the
    /// list, and so does the server's `maxListBytes`.
    fn add(&mut self, page: &Raw) -> Result<Option<String>, TransportError> {
        let (method, member) = (self.kind.list_method(), self.kind.list_member());
        let protocol = |reason: String| TransportError::Protocol(format!("`{method}`: {reason}"));
        let object = Object::of(page).map_err(|error| protocol(error.to_string()))?;
        let list = object.get(member).ok_or_else(|| protocol(format!("the result has no `{member}`")))?;
        let list: Vec<&RawRef> = Deserialize::deserialize(&mut serde_json::Deserializer::from_str(list.get()))
            .map_err(|error| protocol(error.to_string()))?;
        let mut space = self.connection.max_list_bytes.saturating_sub(self.bytes);
        self.bytes = self.bytes.saturating_add(page.get().len());
        for (index, raw) in list.into_iter().enumerate() {
            let Some(left) = space.checked_sub(raw.get().len()) else { break };
            space = left;
            if let Err(reason) = self.add_item(raw) {
                self.reports.add(format!("item {index} of `{method}` was left out: {reason}"));
            }
        }
        if self.bytes > self.connection.max_list_bytes {
            self.reports.conclude(format!(
                "`{method}` is larger than {} (`mcpServers.{}.maxListBytes`): only the first {} items are used",
                shown_size(self.connection.max_list_bytes),
                self.connection.server,
                self.items.items.len()
            ));
            return Ok(None);
        }
        Ok(object.get("nextCursor").and_then(|cursor| serde_json::from_str(cursor.get()).ok()))
    }

    fn add_item(&mut self, raw: &RawRef) -> Result<(), String> {
        if raw.get().len() > MAX_DEFINITION_BYTES {
            let name = Object::of(raw).ok().and_then(|item| item.string(self.kind.key_member())).unwrap_or_default();
            let name: String = name.chars().take(MAX_SHOWN_NAME).collect();
            let (size, max) = (raw.get().len(), shown_size(MAX_DEFINITION_BYTES));
            return Err(format!("`{name}` has {size} bytes; the limit for a definition is {max}"));
        }
        let item = Definition::parse(self.kind, raw.to_owned()).map_err(|error| error.to_string())?;
        self.items.add(self.kind, with_valid_marks(self.connection, self.kind, item)?)
    }

    fn listing(self, cache_hint: Option<CacheHint>) -> ServerListing {
        ServerListing { items: self.items.items, reports: self.reports.finish(), cache_hint }
    }
}

/// Handles a tool whose `x-mcp-header` marks are invalid. It is rejected if arguments are sent as headers to this server.
/// Otherwise the marks are removed, because clients of the proxy would reject the tool for them.
fn with_valid_marks(connection: &Connection, kind: ItemKind, item: Definition) -> Result<Definition, String> {
    if kind != ItemKind::Tool || memchr::memmem::find(item.raw().get().as_bytes(), b"x-mcp-header").is_none() {
        return Ok(item);
    }
    let Some(mut schema) = item.member("inputSchema") else { return Ok(item) };
    match params::marked(&schema) {
        Ok(_) => Ok(item),
        Err(reason) if connection.sends_param_headers() => Err(format!("`{}`: {reason}", item.key())),
        Err(_) => {
            params::unmark(&mut schema);
            let schema = Some(proxy_json::raw(&schema));
            item.with(kind, &[("inputSchema", schema)]).map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_or_invalid_cache_hints_forbid_caching() {
        let hint = |text: &str| page_hint(&proxy_json::valid(text.to_owned()).unwrap());
        let minute = CacheHint { ttl: Duration::from_secs(60), public: true };
        assert_eq!(hint(r#"{"ttlMs":60000,"cacheScope":"public"}"#), minute);
        for odd in ["{}", r#"{"ttlMs":-1,"cacheScope":"all"}"#, r#"{"ttlMs":"60000","cacheScope":true}"#] {
            assert_eq!(hint(odd), CacheHint::default(), "{odd}");
        }
    }

    #[test]
    fn only_items_with_distinct_valid_names_are_accepted() {
        let mut items = UniqueItems::default();
        let mut add = |name: &str| {
            let text = format!(r#"{{"name":{}}}"#, quote(name));
            items.add(ItemKind::Prompt, Definition::parse(ItemKind::Prompt, proxy_json::valid(text).unwrap()).unwrap())
        };
        assert_eq!(add("a"), Ok(()));
        assert_eq!(add("a"), Err("`a` is already listed".to_owned()));
        assert_eq!(add(""), Err("its name is empty".to_owned()));
        assert_eq!(add("a\nb"), Err(r#"its name "a\nb" has control characters"#.to_owned()));
        assert_eq!(add("b c é"), Ok(()));
        assert_eq!(add("a\u{200b}"), Err(r"its name `a\u{200b}` has invisible characters".to_owned()));
        assert_eq!(add("\u{202e}a"), Err(r"its name `\u{202e}a` has invisible characters".to_owned()));
        assert_eq!(items.items.len(), 2);
    }
}
