//! From a script and a snapshot to a surface.

use std::path::PathBuf;
use std::sync::Arc;

use crate::builtins::{Plan, Settings, run_session_script};
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::model::Snapshot;
use crate::model::SurfaceKey;
use crate::script::{Limits, LogLevel, LogLine, Source};

use super::Surface;

/// All that a run of the session script needs but the snapshot.
#[derive(Clone, Debug)]
pub struct ScriptSource {
    pub source: Source,
    /// Under which the script keeps what it remembers: the same whatever is edited in it.
    pub namespace: Arc<str>,
    /// The folder `//` paths start from.
    pub root: PathBuf,
    pub settings: Arc<Settings>,
    /// Sections the config file sets, and where: each must be read by the script.
    pub sections_set: Vec<(String, Location)>,
    /// Whether one that is not read is only worth a warning: the script was named beside the config, for once.
    pub lenient: bool,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    #[error("{0}")]
    Script(Box<Diagnostic>),
    /// A section is set that the script never reads: a key that does nothing.
    #[error("{0}")]
    Unread(Box<Diagnostic>),
}

impl From<Diagnostic> for BuildError {
    fn from(diagnostic: Diagnostic) -> Self {
        BuildError::Script(Box::new(diagnostic))
    }
}

impl BuildError {
    pub fn diagnostic(&self) -> &Diagnostic {
        match self {
            BuildError::Script(diagnostic) | BuildError::Unread(diagnostic) => diagnostic,
        }
    }
}

impl ScriptSource {
    /// Runs the script for nobody in particular. Blocking: call it off the async threads.
    pub fn build(&self, snapshot: &Arc<Snapshot>) -> Result<Surface, BuildError> {
        self.build_for(snapshot, SurfaceKey::anonymous())
    }

    /// Runs it for somebody.
    pub fn build_for(&self, snapshot: &Arc<Snapshot>, visitor: SurfaceKey) -> Result<Surface, BuildError> {
        let plan = run_session_script(
            &self.source,
            &self.root,
            Arc::clone(snapshot),
            Arc::clone(&self.settings),
            visitor,
            &Limits::SESSION_SCRIPT,
        )
        .map_err(BuildError::from)?;
        let mut plan = plan;
        match self.unread_section(&plan) {
            Some(mut unread) if self.lenient => {
                unread.severity = Severity::Warning;
                plan.warnings.push(unread);
            }
            Some(unread) => return Err(BuildError::Unread(Box::new(unread))),
            None => {}
        }
        for line in &plan.log {
            line.level.record(&line.message, &line.fields);
        }
        let lines: Vec<Diagnostic> = plan.log.iter().filter_map(said).collect();
        plan.warnings.extend(lines);
        let origin = plan.personal.then(|| Origin { script_source: self.clone(), snapshot: Arc::clone(snapshot) });
        Ok(Surface::new(plan, snapshot, Arc::clone(&self.namespace), origin))
    }

    /// A section that is set and does nothing.
    fn unread_section(&self, plan: &Plan) -> Option<Diagnostic> {
        let unread = self.sections_set.iter().find(|(name, _)| !plan.sections_read.contains(name));
        let (section, place) = unread?;
        let script = &self.source.name;
        let diagnostic = Diagnostic::error(format!(
            "`{section}` is set, but the session script `{script}` never reads it"
        ))
        .hint(format!("read it with `config()[\"{section}\"]` at the top of the script, or take it out of the config"));
        Some(diagnostic.at(place.clone()))
    }
}

/// What a surface was made of, where it looks otherwise to others.
#[derive(Clone, Debug)]
pub struct Origin {
    script_source: ScriptSource,
    snapshot: Arc<Snapshot>,
}

impl Origin {
    /// The same for somebody else. Blocking.
    pub fn build_for(&self, visitor: SurfaceKey) -> Result<Surface, BuildError> {
        self.script_source.build_for(&self.snapshot, visitor)
    }
}

/// What a script said while it ran, for whoever checks it.
fn said(LogLine { level, message, fields }: &LogLine) -> Option<Diagnostic> {
    let details: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let text = format!("{message}{details}");
    match level {
        LogLevel::Debug => None,
        LogLevel::Info | LogLevel::Audit => Some(Diagnostic::remark(text)),
        LogLevel::Warning | LogLevel::Error => Some(Diagnostic::warning(text)),
    }
}
