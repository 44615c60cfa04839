//! The lines on their way to standard error or a file, which a thread of its own writes. The parent process may not read
//! standard error, and a full pipe must not block the protocol. So lines are dropped and counted when too many wait. Audit lines have
//! a queue of their own: other lines cannot push them out.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tracing::Level;

use super::entry::Entry;
use super::render::LineStyle;

/// Bytes of lines that may wait, for audit lines and for all others.
const MAX_BYTES: usize = 8 << 20;
/// How long the call that an audit line is about waits for room.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The lines that wait.
#[derive(Clone)]
pub(super) struct LineQueue(Arc<Shared>);

struct Shared {
    /// How the lines with counts of lost lines are written.
    style: LineStyle,
    state: Mutex<State>,
    /// A line has come, or the log ends.
    filled: Condvar,
    /// An audit line has gone.
    room: Condvar,
}

#[derive(Default)]
struct State {
    audit: Lane,
    others: Lane,
    /// The number of the next line: lines are written in the order in which they came.
    next: u64,
    /// Whether a line has waited for room in vain since the last one was written. Others then do not wait too.
    is_stuck: bool,
    is_closed: bool,
}

#[derive(Default)]
struct Lane {
    lines: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    /// How many lines were lost since the last one that was written.
    lost: u64,
}

impl Lane {
    /// A single line has room, however long it is.
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes == 0 || self.bytes + bytes <= MAX_BYTES
    }

    fn push(&mut self, number: u64, line: Vec<u8>) {
        self.bytes += line.len();
        self.lines.push_back((number, line));
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let (_, line) = self.lines.pop_front()?;
        self.bytes -= line.len();
        Some(line)
    }

    fn first(&self) -> Option<u64> {
        self.lines.front().map(|(number, _)| *number)
    }
}

impl LineQueue {
    pub(super) fn new(style: LineStyle) -> Self {
        let (filled, room) = (Condvar::new(), Condvar::new());
        LineQueue(Arc::new(Shared { style, state: Mutex::default(), filled, room }))
    }

    /// Adds a line, or counts it as lost. Waits for room for an audit line.
    pub(super) fn add(&self, is_audit: bool, line: Vec<u8>) {
        let mut state = self.0.state.lock();
        if is_audit {
            self.wait_for_room(&mut state, line.len());
        }
        let number = state.next;
        state.next += 1;
        let lane = if is_audit { &mut state.audit } else { &mut state.others };
        if lane.has_room(line.len()) {
            lane.push(number, line)
        } else {
            lane.lost += 1
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

    /// The next lines to write: a count of lost lines, if there is one, and the line that came first. `None` at the end, and
    /// an empty text if there was nothing for `patience`.
    fn take(&self, patience: Duration) -> Option<Vec<u8>> {
        let mut guard = self.0.state.lock();
        if guard.audit.lines.is_empty() && guard.others.lines.is_empty() && !guard.is_closed {
            self.0.filled.wait_for(&mut guard, patience);
        }
        let state = &mut *guard;
        let mut text = Vec::new();
        for (lane, level, what) in
            [(&mut state.audit, Level::ERROR, "lost"), (&mut state.others, Level::WARN, "left out")]
        {
            let lost = std::mem::take(&mut lane.lost);
            if lost > 0 {
                let audit = if level == Level::ERROR { "audit " } else { "" };
                let lines = if lost == 1 { "line" } else { "lines" };
                let message = format!("{what} {lost} {audit}{lines}: the log was not read in time");
                text.extend(self.0.style.line(&Entry::about_log(level, message)).into_bytes());
            }
        }
        let first = [state.audit.first(), state.others.first()];
        let line = match first {
            [Some(audit), Some(other)] if other < audit => state.others.pop(),
            [None, _] => state.others.pop(),
            _ => state.audit.pop(),
        };
        if line.is_some() {
            state.is_stuck = false;
            self.0.room.notify_all();
        }
        text.extend(line.unwrap_or_default());
        (!text.is_empty() || !state.is_closed).then_some(text)
    }

    /// Writes what comes, until the end. `report` is called every second and may log, `report_all` before the end.
    pub(super) fn start_writing(
        &self,
        mut output: impl Write + Send + 'static,
        report: fn(),
        report_all: fn(),
    ) -> io::Result<LogWriter> {
        const INTERVAL: Duration = Duration::from_secs(1);
        let queue = self.clone();
        let write = move || {
            let mut reported = Instant::now();
            while let Some(text) = queue.take(INTERVAL) {
                let _ = output.write_all(&text);
                if reported.elapsed() >= INTERVAL {
                    reported = Instant::now();
                    report();
                }
            }
            let _ = output.flush();
        };
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(write)?;
        Ok(LogWriter { queue: self.clone(), thread: Some(thread), report_all })
    }
}

/// Writes the log on a thread of its own. Dropping the writer writes the lines that wait.
pub(in crate::cli) struct LogWriter {
    queue: LineQueue,
    thread: Option<JoinHandle<()>>,
    report_all: fn(),
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        /// How long the end of the process waits for a log that is not read.
        const MAX_WAIT_AT_END: Duration = Duration::from_secs(1);
        (self.report_all)();
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
        let writer = queue.start_writing(Pipe(allowed, written), || {}, || {}).unwrap();
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
        let writer = queue.start_writing(Pipe(allowed, written), || {}, || {}).unwrap();
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
