//! The servers' items, as a line of a recording. Does not use `serde(flatten)`, which would change numbers and raw
//! values.

use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use proxy_json::Raw;
use proxy_model::{
    Abilities, BackendKind, BackendView, ClientProfile, Definition, DefinitionError, Era, ItemKind, Lists, ServerInfo,
    Snapshot, Status, ViewVariant,
};

/// The catalog from some moment on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CatalogLine {
    /// As RFC 3339 in UTC.
    pub at: String,
    /// The digest of the session script, its modules and its settings.
    pub script: Option<String>,
    pub servers: Vec<OfferedServer>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedServer {
    pub name: String,
    /// `stdio`, `http`, `openapi` or `extension`.
    pub kind: String,
    pub status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    pub offer: ServerOffer,
    /// What clients of other profiles see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantLine>,
}

/// What a server says about itself and lists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerOffer {
    pub info: ServerInfo,
    pub tools: Vec<Raw>,
    pub resources: Vec<Raw>,
    pub resource_templates: Vec<Raw>,
    pub prompts: Vec<Raw>,
}

/// What clients of one profile see of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantLine {
    /// `session` or `stateless`.
    pub era: String,
    /// The capabilities of these clients.
    pub abilities: Value,
    pub offer: ServerOffer,
}

impl CatalogLine {
    pub fn of(snapshot: &Snapshot, script: Option<&str>, at: SystemTime) -> Self {
        CatalogLine {
            at: timestamp(at),
            script: script.map(str::to_owned),
            servers: snapshot.backends.iter().map(|backend| OfferedServer::of(backend)).collect(),
        }
    }

    /// The recorded catalog. Fails if a definition is invalid.
    pub(in crate::backtest) fn snapshot(&self, version: u64) -> Result<Snapshot, DefinitionError> {
        let backends = self.servers.iter().map(|server| server.view().map(Arc::new)).collect::<Result<_, _>>()?;
        Ok(Snapshot { version, generation: version, backends })
    }
}

impl OfferedServer {
    fn of(backend: &BackendView) -> Self {
        let variants = backend.variants.iter().map(|variant| VariantLine {
            era: variant.profile.era.as_str().to_owned(),
            abilities: variant.profile.abilities.to_capabilities(),
            offer: ServerOffer::of(&variant.info, &variant.lists),
        });
        OfferedServer {
            name: backend.name.to_string(),
            kind: backend.kind.as_str().to_owned(),
            status: backend.status.as_str().to_owned(),
            error: backend.error.clone(),
            offer: ServerOffer::of(&backend.info, &backend.lists),
            variants: variants.collect(),
        }
    }

    pub(in crate::backtest) fn view(&self) -> Result<BackendView, DefinitionError> {
        let statuses = [
            Status::Ready,
            Status::Starting,
            Status::Cached,
            Status::Resting,
            Status::Failed,
            Status::Login,
            Status::PerPerson,
        ];
        let variants = self.variants.iter().map(VariantLine::variant).collect::<Result<Vec<_>, _>>()?;
        let (info, lists) = self.offer.parts()?;
        let kind = BackendKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind).unwrap_or(BackendKind::Stdio);
        Ok(BackendView {
            status: statuses.into_iter().find(|status| status.as_str() == self.status).unwrap_or(Status::Ready),
            error: self.error.clone(),
            variants: Arc::new(variants),
            ..BackendView::ready(&self.name, kind, info, lists)
        })
    }
}

impl VariantLine {
    fn variant(&self) -> Result<ViewVariant, DefinitionError> {
        let era = if self.era == Era::Stateless.as_str() { Era::Stateless } else { Era::Session };
        let profile = ClientProfile { era, abilities: Abilities::read(&self.abilities) };
        let (info, lists) = self.offer.parts()?;
        Ok(ViewVariant { profile, info: Arc::new(info), lists: Arc::new(lists), lock: None })
    }
}

impl ServerOffer {
    fn of(info: &ServerInfo, lists: &Lists) -> Self {
        let raws = |kind| lists.of(kind).iter().map(|definition| Raw::clone(definition.shared_raw())).collect();
        ServerOffer {
            info: info.clone(),
            tools: raws(ItemKind::Tool),
            resources: raws(ItemKind::Resource),
            resource_templates: raws(ItemKind::ResourceTemplate),
            prompts: raws(ItemKind::Prompt),
        }
    }

    pub(in crate::backtest) fn list(&self, kind: ItemKind) -> &[Raw] {
        match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Resource => &self.resources,
            ItemKind::ResourceTemplate => &self.resource_templates,
            ItemKind::Prompt => &self.prompts,
        }
    }

    pub(in crate::backtest) fn list_mut(&mut self, kind: ItemKind) -> &mut Vec<Raw> {
        match kind {
            ItemKind::Tool => &mut self.tools,
            ItemKind::Resource => &mut self.resources,
            ItemKind::ResourceTemplate => &mut self.resource_templates,
            ItemKind::Prompt => &mut self.prompts,
        }
    }

    fn parts(&self) -> Result<(ServerInfo, Lists), DefinitionError> {
        let mut lists = Lists::default();
        for kind in ItemKind::ALL {
            for raw in self.list(kind) {
                lists.of_mut(kind).push(Arc::new(Definition::parse(kind, Raw::clone(raw))?));
            }
        }
        Ok((self.info.clone(), lists))
    }
}

/// With all digits: the order of calls depends on them.
pub(super) fn timestamp(at: SystemTime) -> String {
    Timestamp::try_from(at).map(|at| at.to_string()).unwrap_or_default()
}
