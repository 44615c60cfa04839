//! The proxy's own tool and resources, by which clients read the pages of large results: who has them, and what is added to
//! their lists.

use std::borrow::Cow;

use crate::Server;
use crate::client::state::Client;
use proxy_dialects::Dialect;
use proxy_engine::results::{OwnItem, is_own_name, is_template, listed_template, listed_tool, names_result};
use proxy_engine::surface::{Narrowing, Page, Surface};
use proxy_json::{Object, RawRef};
use proxy_model::ItemKind;
use proxy_wire::{Method, Request, Revision};

/// How a request names a page of a result; `None` if it is for an item of the surface, or the client has no limit.
pub(crate) fn named(server: &Server, client: &Client, surface: &Surface, kind: ItemKind, key: &str) -> Option<OwnItem> {
    // Nearly all names are others.
    if !is_own_name(kind, key) || !has_limits(server, client) {
        return None;
    }
    names_result(surface, kind, key)
}

/// Whether results may be split into pages for this client.
pub(super) fn has_limits(server: &Server, client: &Client) -> bool {
    server.results.settings().for_client(&client.info).has_any()
}

/// Whether a request is about the resources that the client has for reading results, although the only server has none.
pub(super) fn serves(server: &Server, client: &Client, surface: &Surface, message: &Request) -> bool {
    let is_about_resources =
        matches!(message.kind, Method::ResourcesRead | Method::List(ItemKind::Resource | ItemKind::ResourceTemplate));
    let has_tools = || surface.mirrors().is_none_or(|only| only.info.capabilities.get("tools").is_some());
    is_about_resources && has_limits(server, client) && has_tools()
}

/// Whether a completion is asked for one of our own arguments, for which there are no values.
pub(super) fn completes(server: &Server, client: &Client, surface: &Surface, params: &RawRef) -> bool {
    let uri = || Object::of(Object::of(params).ok()?.get("ref")?).ok()?.string("uri");
    uri().is_some_and(|uri| surface.find(ItemKind::ResourceTemplate, &uri).is_none() && is_template(&uri))
        && has_limits(server, client)
}

/// A page of a list as the client sees it: the last page has the proxy's own item, and tools whose results may be split have no
/// output schema.
pub(super) fn page<'a>(
    server: &Server,
    client: &Client,
    surface: &'a Surface,
    kind: ItemKind,
    form: (Revision, Option<&Dialect>),
    after: Option<&str>,
    size: usize,
) -> Option<Page<'a>> {
    let whole = || surface.page(kind, form, after, size);
    if !matches!(kind, ItemKind::Tool | ItemKind::ResourceTemplate) {
        return whole();
    }
    let settings = server.results.settings();
    let limits = settings.for_client(&client.info);
    if !limits.has_any() {
        return whole();
    }
    let (mut page, own) = match kind {
        ItemKind::Tool => {
            let is_paged = |tool: &str| limits.of_tool(tool).is_some();
            let narrowing = Narrowing { number: limits.number(), is_paged: &is_paged };
            (surface.page_of_tools(form, narrowing, after, size)?, listed_tool(surface))
        }
        _ => (whole()?, listed_template(surface)),
    };
    if let Some(own) = own
        && page.last.is_none()
    {
        page.items = Cow::Owned(with_item(&page.items, own));
    }
    Some(page)
}

/// The list with another item at its end.
fn with_item(items: &str, item: &str) -> String {
    let list = items.trim_end().strip_suffix(']').unwrap_or(items);
    let comma = if list.trim_end().ends_with('[') { "" } else { "," };
    format!("{list}{comma}{item}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_added_at_the_end() {
        assert_eq!(with_item("[]", "{}"), "[{}]");
        assert_eq!(with_item("[{\"a\":1}]", "{}"), "[{\"a\":1},{}]");
    }
}
