//! The queue of log lines, which a separate thread writes to standard error or a file. The parent process may not read
//! standard error, and a full pipe must not block the protocol, so lines are dropped and counted when the queue is full.
//! Audit lines have their own space in the queue: other lines cannot displace them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tracing::Level;

use super::entry::Entry;
use super::render::LineStyle;
use crate::cli::table;

/// The maximum bytes of queued lines, separately for audit lines and for all others.
const MAX_BYTES: usize = 8 << 20;
/// How long a call waits for space for its audit line.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The queued lines.
#[derive(Clone)]
pub(super) struct LineQueue(Arc<Shared>);

struct Shared {
    /// The style of the lines that count lost lines.
    style: LineStyle,
    state: Mutex<State>,
    /// Notified when a line is added, or the log ends.
    filled: Condvar,
    /// Notified when an audit line has been taken.
    room: Condvar,
}

#[derive(Default)]
struct State {
    /// In order of arrival.
    lines: VecDeque<Line>,
    audit: Lane,
    others: Lane,
    /// Whether waiting for space has timed out since the last line was written. Further lines then do not wait.
    is_stuck: bool,
    is_closed: bool,
}

struct Line {
    is_audit: bool,
    text: Vec<u8>,
}

/// The lines of one kind.
#[derive(Default)]
struct Lane {
    /// The bytes of the queued lines.
    bytes: usize,
    /// The lines lost since the last count was written.
    lost: usize,
}

impl Lane {
    /// A single line always fits, regardless of its length.
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes == 0 || self.bytes + bytes <= MAX_BYTES
    }
}

impl State {
    fn lane(&mut self, is_audit: bool) -> &mut Lane {
        if is_audit { &mut self.audit } else { &mut self.others }
    }
}

impl LineQueue {
    pub(super) fn new(style: LineStyle) -> Self {
        let (filled, room) = (Condvar::new(), Condvar::new());
        LineQueue(Arc::new(Shared { style, state: Mutex::default(), filled, room }))
    }

    /// Adds a line, or counts it as lost. Waits for space for an audit line.
    pub(super) fn add(&self, is_audit: bool, text: Vec<u8>) {
        let mut state = self.0.state.lock();
        if is_audit {
            self.wait_for_room(&mut state, text.len());
        }
        let lane = state.lane(is_audit);
        if lane.has_room(text.len()) {
            lane.bytes += text.len();
            state.lines.push_back(Line { is_audit, text });
        } else {
            lane.lost += 1;
        }
        drop(state);
        self.0.filled.notify_one();
    }

    fn wait_for_room(&self, state: &mut MutexGuard<'_, State>, bytes: usize) {
        let deadline = Instant::now() + MAX_WAIT;
        while !state.audit.has_room(bytes) && !state.is_stuck {
            if self.0.room.wait_until(state, deadline).timed_out() {
                state.is_stuck = true;
            }
        }
    }

    /// The next lines to write: the count of lost lines, if any, and the oldest line. `None` at the end, and an empty text
    /// if nothing arrived within `patience`.
    fn take(&self, patience: Duration) -> Option<Vec<u8>> {
        let mut state = self.0.state.lock();
        if state.lines.is_empty() && !state.is_closed {
            self.0.filled.wait_for(&mut state, patience);
        }
        let mut text = Vec::new();
        for (is_audit, level, what) in [(true, Level::ERROR, "lost"), (false, Level::WARN, "left out")] {
            let lost = std::mem::take(&mut state.lane(is_audit).lost);
            if lost > 0 {
                let lines = table::count(lost, if is_audit { "audit line" } else { "line" });
                let message = format!("{what} {lines}: the log was not read in time");
                text.extend(self.0.style.line(&Entry::about_log(level, message)).into_bytes());
            }
        }
        if let Some(line) = state.lines.pop_front() {
            state.lane(line.is_audit).bytes -= line.text.len();
            state.is_stuck = false;
            self.0.room.notify_all();
            text.extend(line.text);
        }
        (!text.is_empty() || !state.is_closed).then_some(text)
    }

    /// Writes what comes, until the end. `report` is called every second and may log, and before the end, with
    /// whether it is the end.
    pub(super) fn start_writing(
        &self,
        mut output: impl Write + Send + 'static,
        report: fn(bool),
    ) -> io::Result<LogWriter> {
        const INTERVAL: Duration = Duration::from_secs(1);
        let queue = self.clone();
        let write = move || {
            let mut reported = Instant::now();
            while let Some(text) = queue.take(INTERVAL) {
                let _ = output.write_all(&text);
                if reported.elapsed() >= INTERVAL {
                    reported = Instant::now();
                    report(false);
                }
            }
            let _ = output.flush();
        };
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(write)?;
        Ok(LogWriter { queue: self.clone(), thread: Some(thread), report })
    }
}

/// Writes the log on a thread of its own. Dropping the writer writes the lines that wait.
pub(in crate::cli) struct LogWriter {
    queue: LineQueue,
    thread: Option<JoinHandle<()>>,
    report: fn(bool),
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        /// How long the process waits on exit for a log that is not read.
        const MAX_WAIT_AT_END: Duration = Duration::from_secs(1);
        (self.report)(true);
        self.queue.0.state.lock().is_closed = true;
        self.queue.0.filled.notify_one();
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + MAX_WAIT_AT_END;
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const PLAIN: LineStyle = LineStyle::Text { colour: false, short_times: false, is_file: false };

    /// Takes one text at a time, each when it is allowed to.
    struct Pipe(mpsc::Receiver<()>, mpsc::Sender<String>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            let _ = self.1.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn audit_lines_stay_when_others_are_dropped_and_both_losses_are_counted() {
        let queue = LineQueue::new(PLAIN);
        let (read, allowed) = mpsc::channel();
        let (written, texts) = mpsc::channel();
        let writer = queue.start_writing(Pipe(allowed, written), |_| {}).unwrap();
        let line = |name: &str| format!("{name}{}\n", " ".repeat((1 << 20) - name.len() - 1)).into_bytes();
        // The first line is on its way and does not get through.
        queue.add(false, line("first"));
        while queue.0.state.lock().others.bytes > 0 {
            std::thread::yield_now();
        }
        for number in 0..20 {
            queue.add(false, line(&format!("other {number}")));
        }
        for number in 0..8 {
            queue.add(true, line(&format!("audit {number}")));
        }
        let started = Instant::now();
        queue.add(true, line("lost"));
        assert!(started.elapsed() >= MAX_WAIT, "it waits for room");
        // So many that even a busy machine shows whether each of them waits.
        let started = Instant::now();
        for _ in 0..20 {
            queue.add(true, line("lost too"));
        }
        assert!(started.elapsed() < MAX_WAIT * 20, "but not while nothing moves");
        drop(read);
        drop(writer);
        let texts: Vec<String> = texts.iter().collect();
        let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).map(str::trim_end).collect();
        assert_eq!(lines[0], "first");
        assert!(lines[1].ends_with("ERROR lost 21 audit lines: the log was not read in time"), "{lines:?}");
        assert!(lines[2].ends_with(" WARN  left out 12 lines: the log was not read in time"), "{lines:?}");
        let expected = (0..8).map(|number| format!("other {number}"));
        assert_eq!(lines[3..11], expected.collect::<Vec<_>>());
        assert_eq!(lines[11..], (0..8).map(|number| format!("audit {number}")).collect::<Vec<_>>());
    }

    #[test]
    fn an_audit_line_waits_until_there_is_room() {
        let queue = LineQueue::new(PLAIN);
        let (read, allowed) = mpsc::channel();
        let (written, texts) = mpsc::channel();
        let writer = queue.start_writing(Pipe(allowed, written), |_| {}).unwrap();
        let waiting = {
            let queue = queue.clone();
            std::thread::spawn(move || (0..20).for_each(|_| queue.add(true, vec![b'x'; 1 << 20])))
        };
        for _ in 0..20 {
            read.send(()).unwrap();
            assert_eq!(texts.recv().unwrap().len(), 1 << 20);
        }
        waiting.join().unwrap();
        drop(writer);
    }
}
