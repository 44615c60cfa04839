//! One published item.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::per_row::PerRow;
use proxy_builtins::{ArgumentChecks, Carrier, Completers, DefinitionEdit, Handler, Published};
use proxy_dialects::Lowered;
use proxy_json::Schema;
use proxy_model::flow::Labels;
use proxy_model::{Definition, ItemKind, ItemRef, ToolChecks, UriTemplate};
use proxy_script::CallSite;
use proxy_telemetry::{OperationStats, Telemetry};
use proxy_wire::params::{self, ParamHeader};

/// One published item, with its checks and its URI template.
#[derive(Clone, Debug)]
pub struct PublishedItem {
    pub kind: ItemKind,
    pub definition: Arc<Definition>,
    pub handler: Handler,
    /// The backend item that this item publishes or wraps, if any.
    pub origin: Option<ItemRef>,
    /// What is checked of a tool's results; `None` for other kinds of items.
    pub(super) checks: Option<Arc<ToolChecks>>,
    /// What is checked of a tool's arguments; `None` if the proxy does not check them.
    pub argument_checks: Option<ArgumentChecks>,
    /// For a tool such as `call_tool` that calls other tools (a carrier): those tools, and its definition before it was
    /// rendered for a user.
    pub carrier: Option<(Arc<Carrier>, Arc<Definition>)>,
    /// The description of a carrier without the signatures that it has.
    pub(super) without_signatures: Option<Arc<str>>,
    /// The script's own functions that complete arguments.
    pub completers: Option<Completers>,
    /// How often a resource is refreshed while clients follow it; `None` if the script does not say so.
    pub refresh: Option<Duration>,
    /// Where the script published the item.
    pub site: Option<CallSite>,
    /// What the script changed of the definition, and where.
    pub edits: Arc<[DefinitionEdit]>,
    /// The labels that the script has set.
    pub(super) labels: Option<Labels>,
    param_headers: OnceLock<Vec<ParamHeader>>,
    /// The tool as clients of each row get it.
    pub(super) lowered: Arc<PerRow<Lowered>>,
    template: OnceLock<Option<UriTemplate>>,
    /// Where requests for the item are counted. Looked up with the first one.
    stats: OnceLock<Arc<OperationStats>>,
}

impl PublishedItem {
    pub(super) fn new(kind: ItemKind, item: Published) -> Self {
        let mut definition = Arc::clone(&item.definition);
        let mut without_signatures = None;
        if let Some(carrier) = &item.carrier {
            let rendered = carrier.rendered(&item.definition, None);
            definition = rendered.definition;
            without_signatures = rendered.without_signatures.map(Arc::from);
        }
        PublishedItem {
            kind,
            definition,
            without_signatures,
            carrier: item.carrier.map(|carrier| (carrier, item.definition)),
            handler: item.handler,
            origin: item.origin,
            checks: item.checks,
            argument_checks: item.argument_checks,
            completers: item.completers,
            refresh: item.refresh,
            site: item.site,
            edits: item.edits,
            labels: item.labels,
            param_headers: OnceLock::new(),
            lowered: Arc::default(),
            template: OnceLock::new(),
            stats: OnceLock::new(),
        }
    }

    /// The item as rendered for a caller who may use only the listed tools of the carrier's index.
    pub(super) fn carrying(&self, listed: &[bool]) -> Option<Self> {
        let (carrier, template) = self.carrier.as_ref()?;
        let rendered = carrier.rendered(template, Some(listed));
        Some(PublishedItem {
            definition: rendered.definition,
            without_signatures: rendered.without_signatures.map(Arc::from),
            param_headers: OnceLock::new(),
            lowered: Arc::default(),
            ..self.clone()
        })
    }

    /// Whether the item is a carrier: a script tool that calls the tools of a search index. An item that is forwarded to a
    /// server is never a carrier.
    pub fn is_carrier(&self) -> bool {
        self.carrier.is_some() && matches!(self.handler, Handler::Script(_))
    }

    /// Where requests for the item are counted.
    pub fn stats(&self, telemetry: &Telemetry) -> &Arc<OperationStats> {
        self.stats.get_or_init(|| {
            let name = match self.kind {
                ItemKind::Tool | ItemKind::Prompt => Some(self.definition.key()),
                ItemKind::Resource | ItemKind::ResourceTemplate => None,
            };
            telemetry.operation(self.kind.use_method(), name)
        })
    }

    /// The backend item that clients reach by it; `None` if the script made the item.
    pub fn source(&self) -> Option<&ItemRef> {
        self.handler.source(self.origin.as_ref())
    }

    /// The values of the variables of a resource template in a URI; `None` if the URI does not match the template.
    pub(crate) fn variables(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        self.template.get_or_init(|| UriTemplate::parse(self.definition.key())).as_ref()?.variables(uri)
    }

    /// The schema of a tool's structured results; `None` if there is none or an invalid one.
    pub(crate) fn output_schema(&self) -> Option<&Schema> {
        self.checks.as_ref()?.output()
    }

    /// What is checked of the arguments of a call; `None` if the proxy does not check them. A client that got a schema with
    /// fewer constraints may send what the published one refuses.
    pub(crate) fn checks_of(&self, is_lowered: bool) -> Option<Cow<'_, ArgumentChecks>> {
        if let Some(checks) = &self.argument_checks {
            return Some(Cow::Borrowed(checks));
        }
        if !is_lowered {
            return None;
        }
        let schema = Arc::clone(self.checks.as_ref()?);
        Some(Cow::Owned(ArgumentChecks::of_published(&self.definition, schema)))
    }

    /// The arguments that a stateless client must repeat as `Mcp-Param-*` headers.
    pub fn param_headers(&self) -> &[ParamHeader] {
        self.param_headers.get_or_init(|| {
            if memchr::memmem::find(self.definition.raw().get().as_bytes(), b"x-mcp-header").is_none() {
                return Vec::new();
            }
            self.definition.member("inputSchema").and_then(|schema| params::marked(&schema).ok()).unwrap_or_default()
        })
    }
}
