//! What a user sees of a proxy: the published items with their servers, what the servers offer, and the state of each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use proxy_engine::gateway::Gateway;
use proxy_engine::surface::{ItemHistory, Surface, histories};
use proxy_json::Raw;
use proxy_model::operator_api::ServerStatus;
use proxy_model::{Definition, ItemKind, UriTemplate};
use proxy_search::estimate_tokens;

/// An item and the server that it comes from.
#[derive(Clone, Debug)]
pub struct ReportedItem {
    pub kind: ItemKind,
    /// Empty if a script defines the item.
    pub server: String,
    pub definition: Arc<Definition>,
    /// The estimated number of tokens in the definition, if requested.
    pub tokens: Option<usize>,
}

/// The body of `GET /surface`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SurfaceReport {
    pub published: Vec<ReportedItem>,
    /// What the servers offer, before the session script.
    pub offered: Vec<ReportedItem>,
    /// The state of each server, as in `GET /status`.
    pub servers: Vec<ServerStatus>,
    /// The errors of extensions.
    pub problems: Vec<String>,
    /// What happened to each item, where and why, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histories: Vec<ItemHistory>,
}

impl SurfaceReport {
    /// What is currently known about the servers, and what is published to the owner of this surface.
    pub fn of(gateway: &Gateway, surface: &Surface) -> Self {
        let snapshot = gateway.snapshot();
        let published = ItemKind::ALL.into_iter().flat_map(|kind| surface.entries(kind)).map(|entry| {
            let server = entry.source().map(|item| item.backend.to_string()).unwrap_or_default();
            ReportedItem { kind: entry.kind, server, definition: Arc::clone(&entry.definition), tokens: None }
        });
        let offered = snapshot.backends.iter().flat_map(|backend| {
            ItemKind::ALL.into_iter().flat_map(move |kind| {
                backend.lists.of(kind).iter().map(move |definition| ReportedItem {
                    kind,
                    server: backend.name.to_string(),
                    definition: Arc::clone(definition),
                    tokens: None,
                })
            })
        });
        SurfaceReport {
            published: published.collect(),
            offered: offered.collect(),
            servers: snapshot.backends.iter().map(|backend| backend.server_status()).collect(),
            problems: gateway.extension_problems().iter().map(ToString::to_string).collect(),
            histories: Vec::new(),
        }
    }

    /// This report with the history of each item. Blocks until the script's search indexes are built.
    pub fn with_histories(mut self, gateway: &Gateway, surface: &Surface) -> Self {
        self.histories = histories(surface, &gateway.snapshot());
        self
    }

    /// This report with the token count of each definition, which takes a while for thousands of items.
    pub fn with_tokens(mut self) -> Self {
        for item in self.published.iter_mut().chain(&mut self.offered) {
            item.tokens = Some(estimate_tokens(item.definition.raw().get()));
        }
        self
    }

    /// The published item that a request names; for a resource also a template that the URI matches.
    pub fn find(&self, kind: ItemKind, key: &str) -> Option<&ReportedItem> {
        let exact = self.published.iter().find(|item| item.kind == kind && item.definition.key() == key);
        let matches = |item: &&ReportedItem| {
            kind == ItemKind::Resource
                && item.kind == ItemKind::ResourceTemplate
                && UriTemplate::parse(item.definition.key()).is_some_and(|template| template.variables(key).is_some())
        };
        exact.or_else(|| self.published.iter().find(matches))
    }

    /// The published items of one kind.
    pub fn of_kind(&self, kind: ItemKind) -> impl Iterator<Item = &ReportedItem> {
        self.published.iter().filter(move |item| item.kind == kind)
    }
}

#[derive(Serialize, Deserialize)]
struct EncodedItem {
    kind: String,
    server: String,
    definition: Raw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<usize>,
}

impl Serialize for ReportedItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let definition = Raw::clone(self.definition.shared_raw());
        let (kind, server, tokens) = (self.kind.noun().to_owned(), self.server.clone(), self.tokens);
        EncodedItem { kind, server, definition, tokens }.serialize(serializer)
    }
}

impl<'a> Deserialize<'a> for ReportedItem {
    fn deserialize<D: serde::Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let item = EncodedItem::deserialize(deserializer)?;
        let kind = ItemKind::ALL.into_iter().find(|kind| kind.noun() == item.kind);
        let kind = kind.ok_or_else(|| D::Error::custom(format!("unknown kind `{}`", item.kind)))?;
        let definition =
            Definition::parse(kind, item.definition).map_err(|error| D::Error::custom(error.to_string()))?;
        Ok(ReportedItem { kind, server: item.server, definition: Arc::new(definition), tokens: item.tokens })
    }
}
