//! Builds a surface: runs the session script on a snapshot of the servers.

use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use proxy_base::diagnostic::{Diagnostic, Location, Severity};
use proxy_base::memory;
use proxy_builtins::{Plan, Published, Settings, SkippedItem, run_session_script};
use proxy_config::{Flow, ServerSelection};
use proxy_dialects::Dialects;
use proxy_model::{BackendView, ClientProfile, Principal, Snapshot, SnapshotVariant, SurfaceKey};
use proxy_script::{Limits, LogLevel, LogLine, Source};
use proxy_search::Embedder;

use super::Surface;

/// Everything that a run of the session script needs except the snapshot.
#[derive(Clone, Debug)]
pub struct ScriptSource {
    pub source: Source,
    /// The namespace of the script's values in the store. It does not change when the script is edited.
    pub namespace: Arc<str>,
    /// The folder that `//` paths are relative to.
    pub root: PathBuf,
    pub settings: Arc<Settings>,
    /// The sections that the config file sets, and where. The script must read each of them.
    pub sections_set: Vec<(String, Location)>,
    /// The users for whom the script is tried, in this order, to build the shared surface.
    pub first_users: Vec<Principal>,
    /// Whether an unread section is a warning instead of an error: the command line replaces the config's script.
    pub lenient: bool,
    /// The only tools to publish, by their published names; all if there are none.
    pub only_tools: Arc<[glob::Pattern]>,
    /// The labels and rules of the config. They are decided together with what is published.
    pub flow: Option<Arc<Flow>>,
    /// The profile that the script runs for; `None` at the top level, which shows all servers.
    pub selection: Option<Arc<ServerSelection>>,
    /// What lists show of the limits for results. They are added to the lists of clients that have a limit.
    pub result_limits: Arc<str>,
}

/// Why a surface could not be built.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    #[error("{0}")]
    Script(Box<Diagnostic>),
    /// The config sets sections that the script never reads, so the settings have no effect.
    #[error("{first}")]
    Unread { first: Box<Diagnostic>, others: Vec<Diagnostic> },
}

impl From<Diagnostic> for BuildError {
    fn from(diagnostic: Diagnostic) -> Self {
        BuildError::Script(Box::new(diagnostic))
    }
}

impl BuildError {
    /// The first error.
    pub fn diagnostic(&self) -> &Diagnostic {
        match self {
            BuildError::Script(diagnostic) | BuildError::Unread { first: diagnostic, .. } => diagnostic,
        }
    }

    /// All errors.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let others = match self {
            BuildError::Script(_) => &[][..],
            BuildError::Unread { others, .. } => others,
        };
        std::iter::once(self.diagnostic()).chain(others)
    }

    fn diagnostic_mut(&mut self) -> &mut Diagnostic {
        match self {
            BuildError::Script(diagnostic) | BuildError::Unread { first: diagnostic, .. } => diagnostic,
        }
    }
}

/// A run without a surface.
struct NoSurface {
    error: BuildError,
    /// Whether the run may succeed for another user.
    personal: bool,
}

impl ScriptSource {
    /// The digest of the text of the script, without the files that it loads.
    pub fn digest(&self) -> String {
        proxy_json::hex(&Sha256::digest(self.source.text.as_bytes()))
    }

    /// The part of a snapshot that the script sees.
    pub fn shown(&self, snapshot: &Arc<Snapshot>) -> Arc<Snapshot> {
        match &self.selection {
            Some(selection) => snapshot.reduced(|server| selection.shows(server)),
            None => Arc::clone(snapshot),
        }
    }

    /// Runs the script for the first users in turn until it succeeds for one. Blocks: do not call it on an async thread.
    ///
    /// # Errors
    /// The error for the first user, if it fails for all of them.
    pub fn build(&self, snapshot: &Arc<Snapshot>) -> Result<Surface, BuildError> {
        let mut first_failure: Option<NoSurface> = None;
        for principal in &self.first_users {
            let key = SurfaceKey::of(principal.clone(), Arc::default());
            match self.try_for(snapshot, key) {
                Ok(surface) => return Ok(surface),
                Err(failure) => {
                    // A script that did not read the user or client would fail for everybody.
                    let personal = failure.personal;
                    first_failure.get_or_insert(failure);
                    if !personal {
                        break;
                    }
                }
            }
        }
        let Some(NoSurface { mut error, personal }) = first_failure else {
            return self.build_for(snapshot, SurfaceKey::anonymous());
        };
        if personal {
            error.diagnostic_mut().notes.extend(self.whom_it_was_tried_for());
        }
        Err(error)
    }

    /// A note that names the users for whom the script was tried and failed.
    fn whom_it_was_tried_for(&self) -> Option<String> {
        match &self.first_users[..] {
            [user] if user.is_anonymous() => {
                Some("the first run is for an anonymous user, because `auth.tokens` names nobody".to_owned())
            }
            [] | [_] => None,
            users => {
                let names: Vec<String> = users.iter().map(|user| format!("`{}`", user.sub())).collect();
                Some(format!(
                    "it failed for each of {}: the first {} users in `auth.tokens`",
                    names.join(", "),
                    names.len()
                ))
            }
        }
    }

    /// Runs the script for the principal and client in `key`. Blocks: do not call it on an async thread.
    pub fn build_for(&self, snapshot: &Arc<Snapshot>, key: SurfaceKey) -> Result<Surface, BuildError> {
        self.try_for(snapshot, key).map_err(|failed| failed.error)
    }

    fn try_for(&self, snapshot: &Arc<Snapshot>, key: SurfaceKey) -> Result<Surface, NoSurface> {
        let before = memory::balance();
        let snapshot = &self.shown(snapshot);
        let plan = run_session_script(
            &self.source,
            &self.root,
            Arc::clone(snapshot),
            Arc::clone(&self.settings),
            key,
            &Limits::SESSION_SCRIPT,
        )
        .map_err(|failed| NoSurface { error: BuildError::Script(failed.diagnostic), personal: failed.personal })?;
        let mut plan = plan;
        self.keep_only_tools(&mut plan);
        let mut unread: Vec<Diagnostic> = self.unread_sections(&plan).collect();
        if self.lenient {
            unread.iter_mut().for_each(|section| section.severity = Severity::Warning);
            plan.warnings.append(&mut unread);
        }
        let mut unread = unread.into_iter();
        if let Some(first) = unread.next() {
            let error = BuildError::Unread { first: Box::new(first), others: unread.collect() };
            return Err(NoSurface { error, personal: plan.personal });
        }
        for line in &plan.log {
            let text = || format!("{} {}", line.message, serde_json::Value::Object(line.fields.clone()));
            if line.level != LogLevel::Warning || super::logged_warnings::is_new(&text()) {
                line.level.record(&line.message, &line.fields);
            }
        }
        let lines: Vec<Diagnostic> = plan.log.iter().filter_map(log_diagnostic).collect();
        plan.warnings.extend(lines);
        let build_inputs = BuildInputs { script_source: self.clone(), snapshot: Arc::clone(snapshot) };
        let of_script = plan.bytes.cast_signed();
        let mut surface = Surface::new(plan, snapshot, Arc::clone(&self.namespace), build_inputs);
        let of_surface = memory::balance().wrapping_sub(before);
        surface.set_bytes(of_script.saturating_add(of_surface).max(0).unsigned_abs());
        Ok(surface)
    }

    /// Drops the tools that the command line does not name.
    fn keep_only_tools(&self, plan: &mut Plan) {
        if self.only_tools.is_empty() {
            return;
        }
        let is_named = |tool: &Published| self.only_tools.iter().any(|pattern| pattern.matches(tool.definition.key()));
        let (kept, dropped) = std::mem::take(&mut plan.items.tools).into_iter().partition(is_named);
        plan.items.tools = kept;
        let why: Arc<str> = "`--tools` does not name it".into();
        plan.skipped.extend(dropped.iter().filter_map(Published::source).map(|item| SkippedItem {
            item: item.clone(),
            why: Arc::clone(&why),
            site: None,
        }));
        for pattern in self.only_tools.iter() {
            plan.digest.push(',');
            plan.digest.push_str(pattern.as_str());
        }
    }

    /// An error for each section that the config sets and the script does not read.
    fn unread_sections(&self, plan: &Plan) -> impl Iterator<Item = Diagnostic> {
        let unread = self.sections_set.iter().filter(|(name, _)| !plan.sections_read.contains(name));
        let script = &self.source.name;
        unread.map(move |(section, location)| {
            Diagnostic::error(format!("`{section}` is set, but the session script `{script}` never reads it"))
                .hint(format!(
                    "read it with `config()[\"{section}\"]` at the top of the script, or remove it from the config"
                ))
                .at(location.clone())
        })
    }
}

/// What a surface was built from: the script and the snapshot.
#[derive(Clone, Debug)]
pub struct BuildInputs {
    script_source: ScriptSource,
    snapshot: Arc<Snapshot>,
}

impl BuildInputs {
    /// The model for searches by meaning.
    pub(super) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.script_source.settings.embedder.as_ref()
    }

    pub(super) fn flow(&self) -> Option<&Arc<Flow>> {
        self.script_source.flow.as_ref()
    }

    /// What lists show of the limits for results.
    pub(super) fn result_limits(&self) -> &str {
        &self.script_source.result_limits
    }

    /// What clients accept.
    pub(super) fn dialects(&self) -> &Arc<Dialects> {
        &self.script_source.settings.dialects
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The profile that the surface is for; `None` at the top level.
    pub(super) fn profile(&self) -> Option<&Arc<str>> {
        self.script_source.selection.as_ref().map(|selection| &selection.profile)
    }

    /// A server as the script saw it.
    pub fn backend(&self, name: &str) -> Option<&Arc<BackendView>> {
        self.snapshot.backend(name)
    }

    /// The server lists for clients of this profile, if they differ from the lists that the surface was built from.
    pub fn variant(&self, profile: ClientProfile) -> Option<SnapshotVariant> {
        self.snapshot.variant(profile)
    }

    /// Builds the surface for another principal or client from the same script and snapshot. Blocks.
    /// `own` is what that principal sees of servers that everybody sees differently.
    pub fn build_for(
        &self,
        key: SurfaceKey,
        variant: Option<&SnapshotVariant>,
        own: &[Arc<BackendView>],
    ) -> Result<Surface, BuildError> {
        let mut snapshot = match variant {
            Some(variant) => Arc::new(self.snapshot.with_variant(variant)),
            None => Arc::clone(&self.snapshot),
        };
        if !own.is_empty() {
            snapshot = Arc::new(snapshot.with_own(own));
        }
        self.script_source.build_for(&snapshot, key)
    }
}

/// A log line of the script as a diagnostic, for `proxy check`. Debug lines are left out.
fn log_diagnostic(LogLine { level, message, fields }: &LogLine) -> Option<Diagnostic> {
    let details: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let text = format!("{message}{details}");
    match level {
        LogLevel::Debug => None,
        LogLevel::Info | LogLevel::Audit => Some(Diagnostic::remark(text)),
        LogLevel::Warning | LogLevel::Error => Some(Diagnostic::warning(text)),
    }
}
