//! The state of a backend at one moment.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::lock::ViewLock;
use super::operator_api::{LockStatus, ServerFailure, ServerStatus};
use super::server_info::{Lists, ServerInfo};
use super::{ClientProfile, Era, ItemKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    Stdio,
    Http,
    /// An HTTP API with an OpenAPI description.
    OpenApi,
    Extension,
}

impl BackendKind {
    pub const ALL: [BackendKind; 4] =
        [BackendKind::Stdio, BackendKind::Http, BackendKind::OpenApi, BackendKind::Extension];

    pub fn as_str(self) -> &'static str {
        match self {
            BackendKind::Stdio => "stdio",
            BackendKind::Http => "http",
            BackendKind::OpenApi => "openapi",
            BackendKind::Extension => "extension",
        }
    }
}

/// Why a server with a connection per caller (`tokenExchange`) is not available to a caller.
pub const NEEDS_PERSON: &str = "it requires a token from its `subjectIssuer` to identify the caller";

/// Why a server with an account for each caller (`per: person`) is not available to a caller.
pub const NEEDS_SIGN_IN: &str = "everybody has an account of their own there, and this caller is unknown";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Connected and listed.
    Ready,
    /// Connecting for the first time; its lists are unknown.
    Starting,
    /// Not connected; its last known lists are shown.
    Cached,
    /// Not running until it is needed; its last known lists are shown.
    Resting,
    /// Not connected, and the last attempt failed.
    Failed,
    /// Not connected before somebody logs in.
    Login,
    /// Every caller has their own connection. The shared view, without a caller, has no items.
    PerPerson,
}

impl Status {
    /// Whether lists of it are shown, if only the last known ones.
    pub fn has_lists(self) -> bool {
        matches!(self, Status::Ready | Status::Cached | Status::Resting)
    }

    /// Whether its items cannot be used, and no attempt is under way that calls would wait for.
    pub fn is_down(self) -> bool {
        matches!(self, Status::Failed | Status::Login | Status::PerPerson)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ready => "ready",
            Status::Starting => "starting",
            Status::Cached => "cached",
            Status::Resting => "resting",
            Status::Failed => "failed",
            Status::Login => "login",
            Status::PerPerson => "per person",
        }
    }
}

/// A backend as the catalog shows it: plain data, shared by reference.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendView {
    pub name: Arc<str>,
    pub kind: BackendKind,
    pub status: Status,
    /// Why it is not ready; empty if there is no error.
    pub error: String,
    pub info: Arc<ServerInfo>,
    pub lists: Arc<Lists>,
    /// Time from the attempt to connect until the lists had arrived.
    pub start_time: Option<Duration>,
    /// Items that were omitted from the lists, with the reasons.
    pub reports: Arc<Vec<String>>,
    /// What clients of other profiles see instead. Empty if all clients see the same.
    pub variants: Arc<Vec<ViewVariant>>,
    /// What earlier processes knew, until this one has tried to start the server.
    pub last_known: Option<Arc<LastKnown>>,
    /// Whether it did not start the last time either, so that requests wait for it only briefly.
    pub is_doubtful: bool,
    /// How the lists compare with the lock; `None` if the server is not locked.
    pub lock: Option<Arc<ViewLock>>,
}

/// What earlier processes knew of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastKnown {
    /// When it last answered with its lists.
    pub seen: Option<SystemTime>,
    /// The last attempt to start it, if that failed.
    pub failure: Option<StartFailure>,
}

/// A failed attempt to start a server.
#[derive(Clone, Debug, PartialEq)]
pub struct StartFailure {
    pub at: SystemTime,
    pub error: String,
    /// Whether it waited for a log-in.
    pub login: bool,
    /// The entry of the config with which it did not start, as a digest. With another one it may.
    pub entry: String,
}

/// What clients of one profile see of a server whose lists depend on the client.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewVariant {
    pub profile: ClientProfile,
    pub info: Arc<ServerInfo>,
    pub lists: Arc<Lists>,
    /// How these lists compare with the lock; `None` if the server is not locked.
    pub lock: Option<Arc<ViewLock>>,
}

impl BackendView {
    /// A server that is ready and offers these items.
    pub fn ready(name: &str, kind: BackendKind, info: ServerInfo, lists: Lists) -> Self {
        BackendView {
            name: name.into(),
            kind,
            status: Status::Ready,
            error: String::new(),
            info: Arc::new(info),
            lists: Arc::new(lists),
            start_time: None,
            reports: Arc::default(),
            variants: Arc::default(),
            last_known: None,
            is_doubtful: false,
            lock: None,
        }
    }

    /// What stateless clients see of a server that the main connection meets in a session.
    pub fn stateless_leg(&self) -> Option<&ViewVariant> {
        self.variants.iter().find(|variant| variant.profile == ClientProfile::STATELESS)
    }

    /// The variant for clients of this profile: of the era in which they use the server, with the most of their abilities
    /// and no other. A server that is met in one era serves clients of both in it.
    pub fn variant(&self, profile: ClientProfile) -> Option<&ViewVariant> {
        let era = match profile.era {
            _ if self.info.era() == Era::Stateless => Era::Stateless,
            Era::Stateless if self.stateless_leg().is_none() => Era::Session,
            era => era,
        };
        let fitting = self
            .variants
            .iter()
            .filter(|variant| variant.profile.era == era && variant.profile.abilities.is_subset_of(profile.abilities));
        fitting.max_by_key(|variant| variant.profile.abilities.count())
    }

    /// The view with a variant in place of what other clients see. Behind a URL, what only the main connection declares
    /// is used over that one; a process is used in one way for everything.
    #[must_use]
    pub fn with_variant(&self, variant: &ViewVariant) -> Self {
        let (mut info, mut lists) = (Arc::clone(&variant.info), Arc::clone(&variant.lists));
        if self.kind == BackendKind::Http {
            let is_missing = |capability: &str| self.info.declares(capability) && !variant.info.declares(capability);
            for kind in ItemKind::ALL.into_iter().filter(|kind| is_missing(kind.capability())) {
                Arc::make_mut(&mut lists).of_mut(kind).extend_from_slice(self.lists.of(kind));
            }
            let capabilities = ItemKind::ALL.iter().map(|kind| kind.capability()).chain(["completions"]);
            for capability in capabilities.filter(|capability| is_missing(capability)) {
                Arc::make_mut(&mut info).capabilities[capability] = self.info.capabilities[capability].clone();
            }
        }
        BackendView { info, lists, variants: Arc::default(), lock: variant.lock.clone(), ..self.clone() }
    }

    /// Why it is not ready, for people; `None` if there is no error.
    pub fn problem(&self) -> Option<String> {
        problem(&self.name, &self.error)
    }

    /// How the lists compare with the lock, for clients of all profiles.
    fn lock_status(&self) -> Option<LockStatus> {
        let lock = self.lock.as_ref()?;
        let variants = self.variants.iter().filter_map(|variant| variant.lock.as_deref());
        let mut differences: Vec<String> = Vec::new();
        // Nothing can be said of a server that has not listed anything.
        if self.has_listed() {
            for line in std::iter::once(&**lock).chain(variants).flat_map(ViewLock::drift) {
                if !differences.contains(&line) {
                    differences.push(line);
                }
            }
        }
        Some(LockStatus { mode: lock.mode.as_str().to_owned(), differences })
    }

    /// Whether it is known what the server lists, if only from the cache.
    pub fn has_listed(&self) -> bool {
        self.info.capabilities.is_object()
    }

    /// What is not as the lock approves, one line each; empty if everything is, or if the server is not locked.
    pub fn drift(&self) -> Vec<String> {
        self.lock_status().map(|status| status.differences).unwrap_or_default()
    }

    /// How the server is, as far as its view tells.
    pub fn server_status(&self) -> ServerStatus {
        let (info, lists) = (&self.info, &self.lists);
        let time = |at: SystemTime| jiff::Timestamp::try_from(at).map(|at| at.to_string()).unwrap_or_default();
        let known = self.last_known.as_deref();
        let failure = known.and_then(|known| known.failure.as_ref());
        ServerStatus {
            name: self.name.to_string(),
            status: self.status.as_str().to_owned(),
            kind: self.kind.as_str().to_owned(),
            server_name: info.name.clone(),
            version: info.version.clone(),
            protocol_version: info.protocol_version.to_string(),
            tools: lists.tools.len(),
            resources: lists.resources.len(),
            resource_templates: lists.resource_templates.len(),
            prompts: lists.prompts.len(),
            start_milliseconds: self.start_time.map(|time| time.as_millis() as u64),
            error: self.error.clone(),
            reports: self.reports.to_vec(),
            lock: self.lock_status(),
            last_seen: known.and_then(|known| known.seen).map(time),
            last_error: failure.map(|failure| ServerFailure { at: time(failure.at), error: failure.error.clone() }),
            ..ServerStatus::default()
        }
    }
}

/// An item of a backend by its original key: the name of a tool or prompt, or the URI of a resource or template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemRef {
    pub kind: ItemKind,
    pub backend: Arc<str>,
    pub name: Arc<str>,
}

/// Why a server of this name is not ready, for people; `None` if it has no error.
pub fn problem(name: &str, error: &str) -> Option<String> {
    match error {
        "" => None,
        error => Some(format!("server `{name}` is not available: {error}")),
    }
}

/// The error of a server on one line, for a cell of a table.
pub fn error_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    if rest.is_empty() { first.to_owned() } else { format!("{first} {}", rest.join(" | ")) }
}
