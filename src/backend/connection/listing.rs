//! Everything a server lists, all pages, without what is malformed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::established::Connection;
use crate::backend::supervision::freshness::CacheHint;
use crate::backend::transport::any_transport::TransportError;
use crate::json::{Object, Raw, RawRef, quote};
use crate::model::{Definition, ItemKind};
use crate::wire::params;

/// A server that pages for ever is stopped here.
const MAX_PAGES: usize = 1000;
const MAX_ITEMS: usize = 100_000;

/// What a server lists of one kind.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) items: Vec<Arc<Definition>>,
    /// What was left out.
    pub(crate) reports: Vec<String>,
    /// For how long and for whom it may be kept, if the server says so.
    pub(crate) cache_hint: Option<CacheHint>,
}

/// All items of a kind, and what was left out.
pub(crate) async fn list(connection: &Connection, kind: ItemKind) -> Result<Listing, TransportError> {
    let (mut taken, mut reports) = (Taken::default(), Vec::new());
    let mut cache_hint = None::<CacheHint>;
    let listing = |taken: Taken, reports, cache_hint| Ok(Listing { items: taken.items, reports, cache_hint });
    let (mut cursor, mut seen) = (None::<String>, HashSet::new());
    let method = kind.list_method();
    for _ in 0..MAX_PAGES {
        let body = match &cursor {
            Some(cursor) => format!("{{\"cursor\":{}}}", quote(cursor)),
            None => "{}".to_owned(),
        };
        let body = crate::json::valid(body).map_err(|error| TransportError::Protocol(error.to_string()))?;
        let page = connection.ask(method, &body).await?;
        cursor = take_page(connection, kind, &page, &mut taken, &mut reports)?;
        if connection.is_stateless() {
            let said = hints(&page);
            cache_hint = Some(cache_hint.map_or(said, |before| before.and(said)));
        }
        match &cursor {
            None => return listing(taken, reports, cache_hint),
            Some(cursor) if !seen.insert(cursor.clone()) => {
                reports.push(format!("`{method}` repeats the cursor {}: the list ends there", quote(cursor)));
                return listing(taken, reports, cache_hint);
            }
            Some(_) if taken.items.len() > MAX_ITEMS => break,
            Some(_) => {}
        }
    }
    reports.push(format!("`{method}` does not end: only the first {} items are used", taken.items.len()));
    listing(taken, reports, cache_hint)
}

/// What a page says about being kept. What it does not say, or says wrongly, counts as the least there is.
fn hints(page: &RawRef) -> CacheHint {
    let Ok(page) = Object::of(page) else { return CacheHint::default() };
    let ttl = page.get("ttlMs").and_then(|ttl| ttl.get().parse().ok()).unwrap_or_default();
    CacheHint { ttl: Duration::from_millis(ttl), public: page.string("cacheScope").as_deref() == Some("public") }
}

/// The items of one kind, each under a key of its own.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) items: Vec<Arc<Definition>>,
    keys: HashSet<String>,
}

impl Taken {
    /// One item that cannot be told from another, or cannot be named at all, must not spoil the rest.
    pub(crate) fn add(&mut self, item: Definition) -> Result<(), String> {
        let key = item.key();
        if key.is_empty() {
            return Err("its name is empty".to_owned());
        }
        if key.chars().any(char::is_control) {
            return Err(format!("its name {} has control characters", quote(key)));
        }
        if !self.keys.insert(key.to_owned()) {
            return Err(format!("`{key}` is already listed"));
        }
        self.items.push(Arc::new(item));
        Ok(())
    }
}

/// Takes a page's items; the cursor of the next page. An empty cursor is one too, only its absence ends a list.
fn take_page(
    connection: &Connection,
    kind: ItemKind,
    page: &Raw,
    taken: &mut Taken,
    reports: &mut Vec<String>,
) -> Result<Option<String>, TransportError> {
    let (method, member) = (kind.list_method(), kind.list_member());
    let protocol = |reason: String| TransportError::Protocol(format!("`{method}`: {reason}"));
    let object = Object::of(page).map_err(|error| protocol(error.to_string()))?;
    let list = object.get(member).ok_or_else(|| protocol(format!("the result has no `{member}`")))?;
    let list: Vec<&RawRef> = Deserialize::deserialize(&mut serde_json::Deserializer::from_str(list.get()))
        .map_err(|error| protocol(error.to_string()))?;
    for (index, raw) in list.into_iter().enumerate() {
        let outcome = Definition::parse(kind, raw.to_owned())
            .map_err(|error| error.to_string())
            .and_then(|item| usable(connection, kind, item))
            .and_then(|item| taken.add(item));
        if let Err(reason) = outcome {
            reports.push(format!("item {index} of `{method}` was left out: {reason}"));
        }
    }
    Ok(object.get("nextCursor").and_then(|cursor| serde_json::from_str(cursor.get()).ok()))
}

/// A tool whose header marks break the rules must not be offered where the marks count; elsewhere the proxy's own
/// clients would drop it for its marks, so the marks go and the tool stays.
fn usable(connection: &Connection, kind: ItemKind, item: Definition) -> Result<Definition, String> {
    if kind != ItemKind::Tool || memchr::memmem::find(item.raw().get().as_bytes(), b"x-mcp-header").is_none() {
        return Ok(item);
    }
    let Some(mut schema) = item.member("inputSchema") else { return Ok(item) };
    match params::marked(&schema) {
        Ok(_) => Ok(item),
        Err(reason) if connection.sends_headers() => Err(format!("`{}`: {reason}", item.key())),
        Err(_) => {
            params::unmark(&mut schema);
            let schema = Some(crate::json::raw(&schema));
            item.with(kind, &[("inputSchema", schema)]).map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_about_keeping_a_list_counts_as_nothing() {
        let hints = |text: &str| hints(&crate::json::valid(text.to_owned()).unwrap());
        let minute = CacheHint { ttl: Duration::from_secs(60), public: true };
        assert_eq!(hints(r#"{"ttlMs":60000,"cacheScope":"public"}"#), minute);
        for odd in ["{}", r#"{"ttlMs":-1,"cacheScope":"all"}"#, r#"{"ttlMs":"60000","cacheScope":true}"#] {
            assert_eq!(hints(odd), CacheHint::default(), "{odd}");
        }
    }

    #[test]
    fn only_items_with_a_name_of_their_own_are_taken() {
        let mut taken = Taken::default();
        let mut add = |name: &str| {
            let text = format!(r#"{{"name":{}}}"#, quote(name));
            taken.add(Definition::parse(ItemKind::Prompt, crate::json::valid(text).unwrap()).unwrap())
        };
        assert_eq!(add("a"), Ok(()));
        assert_eq!(add("a"), Err("`a` is already listed".to_owned()));
        assert_eq!(add(""), Err("its name is empty".to_owned()));
        assert_eq!(add("a\nb"), Err(r#"its name "a\nb" has control characters"#.to_owned()));
        assert_eq!(add("b c é"), Ok(()));
        assert_eq!(taken.items.len(), 2);
    }
}
