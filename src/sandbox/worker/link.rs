//! The script's only way out: questions to the parent, and what it prints.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::branches;
use super::line::Line;
use crate::json::Raw;
use crate::sandbox::ending::Exit;
use crate::sandbox::message::{ScriptResult, ToParent, WorkerRequest, send};

pub(super) struct Link {
    pipe: Arc<File>,
    /// Answers as they come.
    sender: Sender<(String, Raw)>,
    receiver: Mutex<Receiver<(String, Raw)>>,
    /// Answers that came for another branch than the one that looked.
    kept: Mutex<HashMap<String, Raw>>,
    printed: Mutex<Printed>,
}

/// What the script prints goes out as it comes, so that it is known however the script ends; who prints very much has it
/// sent in larger pieces, so that the parent is not kept busy with it.
#[derive(Default)]
struct Printed {
    /// Not sent yet.
    text: String,
    /// The length of all of it, as JSON.
    length: u64,
    limit: u64,
    /// How often, and when last, something was sent.
    sent: u32,
    last: Option<Instant>,
}

/// So many lines go out alone.
const ALONE: u32 = 100;
/// Later ones together with others: when they are so long, or so late.
const PIECE: usize = 4 << 10;
const LATE: Duration = Duration::from_millis(10);

impl Printed {
    fn is_due(&self) -> bool {
        self.sent < ALONE || self.text.len() >= PIECE || self.last.is_none_or(|last| last.elapsed() >= LATE)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub(super) fn new(pipe: Arc<File>) -> Self {
        let (sender, receiver) = channel();
        let receiver = Mutex::new(receiver);
        Link { pipe, sender, receiver, kept: Mutex::default(), printed: Mutex::default() }
    }

    /// For a script that asks nothing.
    pub(super) fn to_nobody() -> io::Result<Self> {
        let (nobody, _) = UnixStream::pair()?;
        Ok(Link::new(Arc::new(File::from(OwnedFd::from(nobody)))))
    }

    pub(super) fn answered(&self, at: String, value: Raw) {
        // The script's thread is there as long as the process.
        let _ = self.sender.send((at, value));
    }

    /// Asks the parent, and waits; other branches go on meanwhile.
    pub(super) fn ask(&self, want: WorkerRequest) -> Raw {
        let at = Line::position();
        self.send(&ToParent::WorkerRequest { at: at.clone(), want });
        loop {
            if let Some(value) = lock(&self.kept).remove(&at) {
                return value;
            }
            self.pause();
        }
    }

    /// Lets the others go on; with no others, waits for an answer to anybody.
    pub(super) fn pause(&self) {
        if branches::suspend() {
            return;
        }
        match lock(&self.receiver).recv() {
            Ok((at, value)) => lock(&self.kept).insert(at, value),
            Err(_) => Exit::Parent.now(),
        };
    }

    pub(super) fn limit_output(&self, limit: u64) {
        lock(&self.printed).limit = limit;
    }

    pub(super) fn print(&self, line: &str) {
        let mut printed = lock(&self.printed);
        printed.length += crate::json::quote(line).len() as u64;
        if printed.length > printed.limit {
            self.send_printed(&mut printed);
            Exit::Output.now();
        }
        printed.text.push_str(line);
        printed.text.push('\n');
        if printed.is_due() {
            self.send_printed(&mut printed);
        }
    }

    fn send_printed(&self, printed: &mut Printed) {
        if printed.text.is_empty() {
            return;
        }
        printed.sent = printed.sent.saturating_add(1);
        printed.last = Some(Instant::now());
        self.write(&ToParent::Printed(std::mem::take(&mut printed.text)));
    }

    /// The script's last word, and the end of this process.
    pub(super) fn finish(&self, last: ScriptResult, limit: u64) -> ! {
        let returned = last.as_ref().map_or(0, |value| value.get().len() as u64);
        let printed = {
            let mut printed = lock(&self.printed);
            self.send_printed(&mut printed);
            printed.length
        };
        if returned + printed > limit {
            Exit::Output.now();
        }
        self.write(&ToParent::Done(last));
        // The parent ends the process when it has heard enough; until then it may still read.
        loop {
            std::thread::park();
        }
    }

    /// Tells the parent something, and first what was printed before.
    pub(super) fn send(&self, message: &ToParent) {
        self.send_printed(&mut lock(&self.printed));
        self.write(message);
    }

    fn write(&self, message: &ToParent) {
        if send(&*self.pipe, message).is_err() {
            Exit::Parent.now();
        }
    }
}
