//! An open audit log: takes records, and reports whether calls may continue and where the log ends.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::line::{self, AuditEntry, LineOptions, PublishedSurface, Redact};
use super::state::AuditState;
use super::writer::{Writer, WriterCommand};
use proxy_config::Audit;
use proxy_model::operator_api::AuditStatus;
use proxy_model::{CallReader, CallRecord, REPL, RecordedEventKind};

/// How long shutdown waits for the last lines.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The surfaces that are remembered as written. Beyond that, each is written once more.
const MAX_SURFACES: usize = 10_000;

pub struct AuditLog {
    surfaces: Mutex<HashSet<PublishedSurface>>,
    state: Arc<AuditState>,
    commands: Sender<WriterCommand>,
}

impl AuditLog {
    /// Opens the log and starts the thread that writes it. If the file cannot be opened, a log that is not required is
    /// tried again later.
    ///
    /// # Errors
    /// The log is required and cannot be written.
    pub fn start(settings: &Audit, redact: Redact) -> io::Result<Arc<Self>> {
        let state = Arc::new(AuditState::new(settings.required, settings.file.clone()));
        let options = LineOptions::new(settings, redact);
        let (commands, received) = channel();
        let mut writer = Writer::new(settings.clone(), options, Arc::clone(&state));
        match writer.open() {
            Err(error) if settings.required => return Err(error),
            _ => {}
        }
        std::thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(&received))?;
        Ok(Arc::new(AuditLog { surfaces: Mutex::default(), state, commands }))
    }

    /// Adds a line. Never blocks: what does not fit into memory is lost, and counted.
    pub fn add(&self, entry: AuditEntry) {
        let bytes = entry.bytes();
        if self.state.admit(bytes) {
            // The writer ends only after everything else.
            let _ = self.commands.send(WriterCommand::Write(Box::new(entry), bytes));
        }
    }

    /// Adds a line about what is published from now on, once for each script and its lists.
    pub fn published(&self, surface: PublishedSurface) {
        let mut surfaces = self.surfaces.lock();
        if surfaces.len() >= MAX_SURFACES {
            surfaces.clear();
        }
        if surfaces.insert(surface.clone()) {
            self.add(AuditEntry::Surface(surface));
        }
    }

    /// Why calls are refused: the log is required and cannot be written.
    pub fn refusal(&self) -> Option<String> {
        self.state.refusal()
    }

    /// The file, its last number and hash, and why it cannot be written.
    pub fn report(&self) -> AuditStatus {
        self.state.report()
    }

    /// The number of the last line, and whether the log cannot be written.
    pub fn progress(&self) -> (u64, bool) {
        (self.state.seq(), self.state.is_failing())
    }

    /// Opens the file again, after it was moved away.
    pub fn reopen(&self) {
        let _ = self.commands.send(WriterCommand::Reopen);
    }

    /// Writes what waits, and seals it.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        let _ = self.commands.send(WriterCommand::Close(done));
        if tokio::time::timeout(CLOSE_TIMEOUT, closed).await.is_err() {
            tracing::error!("the audit log was not written in time: its last lines are lost");
        }
    }
}

impl CallReader for AuditLog {
    fn read(&self, record: &Arc<CallRecord>) {
        // A `proxy repl` statement without server calls is not audited.
        let is_silent = record.method == REPL && record.server_calls.is_empty();
        if line::event_type(&record.method).is_some() && !is_silent {
            for (index, event) in record.events.iter().enumerate() {
                if matches!(event.kind, RecordedEventKind::Asked { .. } | RecordedEventKind::Answered { .. }) {
                    self.add(AuditEntry::Event(Arc::clone(record), index));
                }
            }
            self.add(AuditEntry::Call(Arc::clone(record)));
        }
    }
}
