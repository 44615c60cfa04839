//! The result of a session script: what it published and recorded at its top level.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::completion::Completers;
use crate::metadata::ArgumentChecks;
use crate::metadata::carrier::Carrier;
use crate::session::hook::Hook;
use crate::session::other_hook::OtherHook;
use crate::session::provenance::{DefinitionEdit, SkippedItem};
use proxy_base::diagnostic::Diagnostic;
use proxy_model::flow::Labels;
use proxy_model::{Definition, ItemRef, PerKind, ToolChecks};
use proxy_script::{CallSite, Function, LogLine};
use proxy_search::SharedIndex;

#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The published items of each kind, in the order of their publication.
    pub items: PerKind<Vec<Published>>,
    /// The server items that the script skipped, with its reasons.
    pub skipped: Vec<SkippedItem>,
    /// The labels that the script has set on items of servers, published or not.
    pub labels: HashMap<ItemRef, Labels>,
    pub instructions: Option<String>,
    /// Whether the script called `passthrough()` for both resources and prompts.
    pub passes_all: bool,
    /// The keys of `config()` that the script read at its top level.
    pub sections_read: BTreeSet<String>,
    /// Warnings, each with its position in the script.
    pub warnings: Vec<Diagnostic>,
    /// The search indexes that the script made at its top level.
    pub indexes: Vec<Arc<SharedIndex>>,
    /// What the script logged at its top level.
    pub log: Vec<LogLine>,
    /// Whether the script read the current user or client, so that others need a plan of their own.
    pub personal: bool,
    /// Whether the script read what the client accepts, so that clients of another row need a plan of their own.
    pub reads_row: bool,
    /// The script's `on_request`, which runs before every request for an item.
    pub on_request: Option<Hook>,
    /// The script's `on_other_request`, which runs before requests that are not for an item.
    pub on_other_request: Option<OtherHook>,
    /// The files that the script loaded, to be watched for changes together with the script.
    pub files: Vec<PathBuf>,
    /// The digest of the script, the files it loaded, and its settings.
    pub digest: String,
    /// The memory that the run has taken and not given back: this plan, and the values that its functions refer to.
    pub bytes: usize,
}

#[derive(Clone, Debug)]
pub struct Published {
    pub definition: Arc<Definition>,
    pub handler: Handler,
    /// The backend item whose metadata was published, changed or not; None if the script made the metadata.
    pub origin: Option<ItemRef>,
    /// The checks of a tool's results; None for other kinds of items.
    pub checks: Option<Arc<ToolChecks>>,
    /// The checks of a tool's arguments; None if the proxy does not check them.
    pub argument_checks: Option<ArgumentChecks>,
    /// The index that the tool fronts; None for an ordinary tool.
    pub carrier: Option<Arc<Carrier>>,
    /// The script's own functions that complete arguments.
    pub completers: Option<Completers>,
    /// How often a resource is refreshed while clients follow it; None if the script does not say so.
    pub refresh: Option<Duration>,
    /// Where the script published the item; `None` if nothing recorded it.
    pub site: Option<CallSite>,
    /// What the script changed of the definition, and where.
    pub edits: Arc<[DefinitionEdit]>,
    /// The labels that the script has set; None if it says nothing.
    pub labels: Option<Labels>,
}

impl Published {
    /// The backend item that clients reach by it; `None` if the script made the item.
    pub fn source(&self) -> Option<&ItemRef> {
        self.handler.source(self.origin.as_ref())
    }
}

#[derive(Clone, Debug)]
pub enum Handler {
    /// A backend's own handler: calls are forwarded without running Starlark.
    Backend(ItemRef),
    Script(Function),
}

impl Handler {
    /// The backend item behind an item with this handler: the item that the handler calls, or else `origin`, the item
    /// with the published metadata.
    pub fn source<'a>(&'a self, origin: Option<&'a ItemRef>) -> Option<&'a ItemRef> {
        match self {
            Handler::Backend(target) => Some(target),
            Handler::Script(_) => origin,
        }
    }
}
