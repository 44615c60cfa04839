//! The thread that owns the file of an audit log.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::oneshot;

use super::chain::{Chain, hash};
use super::file::LogFile;
use super::line::{self, AuditEntry, LineOptions};
use super::state::AuditState;
use proxy_config::Audit;

/// How long a line may wait to be on disk, and how long until a failed write is tried again.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// How long a line may wait for a seal.
const SEAL_INTERVAL: Duration = Duration::from_secs(60);
/// How often the log of the proxy says that the audit log cannot be written.
const REMIND_INTERVAL: Duration = Duration::from_secs(60);
/// How long a line waits for others that are written with it: to wake up and to write cost more than a line.
const GATHER_TIME: Duration = Duration::from_millis(5);
/// The maximum number of lines in one write.
const BATCH: usize = 256;

pub(super) enum WriterCommand {
    Write(Box<AuditEntry>, usize),
    Reopen,
    Close(oneshot::Sender<()>),
}

pub(super) struct Writer {
    settings: Audit,
    options: LineOptions,
    state: Arc<AuditState>,
    file: Option<LogFile>,
    chain: Chain,
    /// Entries that are not written yet, with the memory they take.
    pending: VecDeque<(AuditEntry, usize)>,
    sync_due: Option<Instant>,
    seal_due: Option<Instant>,
    retry_due: Option<Instant>,
    last_reminder: Option<Instant>,
    /// Set if the file could not be moved away: until then it grows.
    rotate_after: Option<Instant>,
}

impl Writer {
    pub(super) fn new(settings: Audit, options: LineOptions, state: Arc<AuditState>) -> Self {
        let chain = Chain::new(options.key.clone());
        Writer {
            settings,
            options,
            state,
            file: None,
            chain,
            pending: VecDeque::new(),
            sync_due: None,
            seal_due: None,
            retry_due: None,
            last_reminder: None,
            rotate_after: None,
        }
    }

    /// Opens the file before anything is written.
    pub(super) fn open(&mut self) -> io::Result<()> {
        let opened = self.open_file("start").and_then(|()| self.sync());
        self.note(&opened);
        opened
    }

    /// Writes what arrives until it is told to close.
    pub(super) fn run(mut self, commands: &Receiver<WriterCommand>) {
        loop {
            let received = match self.next_due() {
                None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => commands.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            let mut closing = None;
            let mut next = match received {
                Ok(command) => {
                    std::thread::sleep(GATHER_TIME);
                    Some(command)
                }
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            while let Some(command) = next {
                match command {
                    WriterCommand::Write(entry, bytes) => self.pending.push_back((*entry, bytes)),
                    WriterCommand::Reopen => self.leave_file(),
                    WriterCommand::Close(done) => {
                        closing = Some(done);
                        break;
                    }
                }
                next = commands.try_recv().ok();
            }
            self.work(closing.is_some());
            if let Some(done) = closing {
                let _ = done.send(());
                return;
            }
        }
    }

    fn next_due(&self) -> Option<Instant> {
        match self.retry_due {
            Some(retry) => Some(retry),
            None => [self.sync_due, self.seal_due].into_iter().flatten().min(),
        }
    }

    /// Does what is due. While the log cannot be written, everything is tried again from time to time.
    fn work(&mut self, closing: bool) {
        let now = Instant::now();
        if !closing && self.retry_due.is_some_and(|retry| now < retry) {
            return;
        }
        let is_due = |due: Option<Instant>| closing || due.is_some_and(|due| due <= now);
        let was_failing = self.state.is_failing();
        let (seals, syncs) = (is_due(self.seal_due), is_due(self.sync_due) || was_failing);
        let done = self
            .write_pending()
            .and_then(|()| if seals { self.seal() } else { Ok(()) })
            .and_then(|()| if syncs || closing { self.sync() } else { Ok(()) });
        self.note(&done);
    }

    /// Notes whether the log can be written.
    fn note(&mut self, outcome: &io::Result<()>) {
        match outcome {
            Ok(()) => {
                self.retry_due = None;
                // What overflowed meanwhile is mentioned first.
                if self.state.is_failing() && self.state.lost() == 0 {
                    self.state.recover();
                    self.last_reminder = None;
                    tracing::warn!("the audit log `{}` can be written again", self.path().display());
                }
            }
            Err(error) => {
                let now = Instant::now();
                self.retry_due = Some(now + SYNC_INTERVAL);
                self.state.fail(&error.to_string());
                if self.last_reminder.is_none_or(|last| now - last >= REMIND_INTERVAL) {
                    self.last_reminder = Some(now);
                    let refused = if self.settings.required { "calls are refused" } else { "calls continue" };
                    let path = self.path().display();
                    tracing::error!("cannot write the audit log `{path}`: {error}; {refused} until it can be written");
                }
            }
        }
        self.state.set_end(self.path().to_owned(), self.chain.seq(), self.chain.head());
    }

    fn path(&self) -> &Path {
        self.file.as_ref().map_or(&self.settings.file, LogFile::path)
    }

    fn write_pending(&mut self) -> io::Result<()> {
        if self.pending.is_empty() && !self.state.is_failing() {
            return Ok(());
        }
        if self.file.as_ref().is_some_and(LogFile::is_replaced) {
            self.leave_file();
        }
        if self.file.is_none() {
            let why = if self.chain.head().is_none() { "start" } else { "reopened" };
            self.open_file(why)?;
        }
        while !self.pending.is_empty() {
            let size = self.file.as_ref().map_or(0, LogFile::size);
            let (mut chain, mut text, mut taken, mut bytes) = (self.chain.clone(), String::new(), 0, 0);
            // Where little fits, as much as possible is written.
            let batch = if self.state.is_failing() { 1 } else { BATCH };
            for (entry, weight) in self.pending.iter().take(batch) {
                text += &chain.link(&line::of(entry, &self.options));
                text.push('\n');
                (taken, bytes) = (taken + 1, bytes + weight);
                if size + text.len() as u64 >= self.settings.max_size {
                    break;
                }
            }
            self.append(chain, &text)?;
            self.pending.drain(..taken);
            self.state.release(bytes);
            let may_rotate = self.rotate_after.is_none_or(|after| after <= Instant::now());
            if may_rotate && self.file.as_ref().is_some_and(|file| file.size() >= self.settings.max_size) {
                self.rotate()?;
            }
        }
        // Last: each time that it fails again there would be another one.
        if self.state.is_failing() {
            self.write_gap()?;
        }
        Ok(())
    }

    /// Says in the log that it could not be written, and how many records are missing.
    fn write_gap(&mut self) -> io::Result<()> {
        let lost = self.state.lost();
        let mut chain = self.chain.clone();
        let why = self.state.failure();
        let line = chain.link(&json!({"at": line::timestamp_now(), "type": "log_gap", "lost": lost, "why": why}));
        self.append(chain, &(line + "\n"))?;
        self.state.mentioned(lost);
        Ok(())
    }

    /// Appends lines, and only then continues the chain behind them.
    fn append(&mut self, chain: Chain, text: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::Error::other("it is not open")) };
        file.append(text)?;
        self.chain = chain;
        let now = Instant::now();
        self.sync_due.get_or_insert(now + SYNC_INTERVAL);
        if self.chain.has_key() {
            self.seal_due.get_or_insert(now + SEAL_INTERVAL);
        }
        Ok(())
    }

    fn seal(&mut self) -> io::Result<()> {
        if self.seal_due.is_none() {
            return Ok(());
        }
        let mut chain = self.chain.clone();
        if let Some(line) = chain.seal(line::timestamp_now()) {
            self.append(chain, &(line + "\n"))?;
        }
        self.seal_due = None;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.sync_due.is_some() {
            self.file.as_ref().map_or(Ok(()), LogFile::sync)?;
            self.sync_due = None;
        }
        Ok(())
    }

    /// Opens the file. Its first line, and the first line of each process in it, says what it continues.
    fn open_file(&mut self, why: &str) -> io::Result<()> {
        let mut file = LogFile::open(&self.settings.file)?;
        let tail = file.tail()?;
        let mut chain = self.chain.clone();
        if let (None, Some(line)) = (chain.head(), &tail.line) {
            let not_ours = || io::Error::other("its last line is not an audit log line; choose another file");
            chain = chain.after(line).ok_or_else(not_ours)?;
        }
        if file.path() != self.settings.file {
            let (taken, own) = (self.settings.file.display(), file.path().display());
            tracing::warn!("another process is writing the audit log `{taken}`: this one writes `{own}`");
        }
        let mut opened = json!({
            "at": line::timestamp_now(), "type": "log_opened",
            "why": why, "pid": std::process::id(), "version": proxy_base::VERSION,
        });
        let mut text = String::new();
        if !tail.torn.is_empty() {
            // The line of a process that was killed while it wrote.
            opened["torn"] = hash(&tail.torn).into();
            text.push('\n');
        }
        text += &chain.link(&opened);
        text.push('\n');
        self.file = Some(file);
        let opened = self.append(chain, &text);
        if opened.is_err() {
            self.file = None;
        }
        opened
    }

    /// Ends what is written to the file. The next line opens it again.
    fn leave_file(&mut self) {
        if self.file.as_ref().is_some_and(LogFile::is_intact) {
            // The disk of the old file may be full: what counts is that the next one can be written.
            let _ = self.seal().and_then(|()| self.sync());
        }
        self.file = None;
    }

    /// Begins a new file.
    fn rotate(&mut self) -> io::Result<()> {
        self.seal()?;
        self.sync()?;
        let stamp = format!("{}-{:010}", line::compact_timestamp_now(), self.chain.seq());
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.move_away(&stamp, self.settings.keep)) {
            tracing::error!("cannot rotate the audit log `{}`: {error}", self.path().display());
            self.rotate_after = Some(Instant::now() + REMIND_INTERVAL);
            return Ok(());
        }
        self.file = None;
        self.open_file("rotated")
    }
}
