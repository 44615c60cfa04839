//! The script's only connection to the outside: requests to the proxy and their answers, printed text, and the result.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::sandbox::protocol::{ScriptResult, ToParent, WorkerExit, WorkerRequest, send_blocking};
use proxy_fiber as fiber;
use proxy_json::Raw;

pub(super) struct ParentChannel {
    socket: Arc<File>,
    /// Requests without an answer, by position.
    pending: Mutex<HashMap<String, oneshot::Sender<Raw>>>,
    printed: Mutex<PrintBuffer>,
}

/// Printed text is sent at once, so that it arrives however the script ends. A script that prints very much has its lines
/// sent in larger pieces, so that they do not keep the proxy busy.
#[derive(Default)]
struct PrintBuffer {
    /// Not sent yet.
    text: String,
    /// The length of everything that was printed, as JSON.
    length: u64,
    limit: u64,
    /// How often something was sent.
    sent: u32,
    last_sent: Option<Instant>,
}

/// This many lines are sent one by one.
const UNBUFFERED_LINES: u32 = 100;
/// Later lines are sent when the buffer has this many bytes, or when the last piece was sent this long ago.
const PIECE_BYTES: usize = 4 << 10;
const PIECE_INTERVAL: Duration = Duration::from_millis(10);

impl PrintBuffer {
    fn is_due(&self) -> bool {
        self.sent < UNBUFFERED_LINES
            || self.text.len() >= PIECE_BYTES
            || self.last_sent.is_none_or(|last| last.elapsed() >= PIECE_INTERVAL)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl ParentChannel {
    pub(super) fn new(socket: Arc<File>) -> Self {
        ParentChannel { socket, pending: Mutex::default(), printed: Mutex::default() }
    }

    /// A channel for a script that sends nothing.
    pub(super) fn disconnected() -> io::Result<Self> {
        let (socket, _) = UnixStream::pair()?;
        Ok(ParentChannel::new(Arc::new(File::from(OwnedFd::from(socket)))))
    }

    /// Delivers the answer to the request at a position.
    pub(super) fn answer(&self, at: &str, value: Raw) {
        if let Some(request) = lock(&self.pending).remove(at) {
            // Fails if the branch that waited was unwound.
            let _ = request.send(value);
        }
    }

    /// Sends a request and waits for its answer; other branches run meanwhile.
    pub(super) fn ask(&self, at: String, request: WorkerRequest) -> Raw {
        let (sender, answer) = oneshot::channel();
        lock(&self.pending).insert(at.clone(), sender);
        self.send(&ToParent::Request { at, request });
        fiber::wait_here(answer).unwrap_or_else(|_| WorkerExit::Parent.now())
    }

    pub(super) fn limit_output(&self, limit: u64) {
        lock(&self.printed).limit = limit;
    }

    pub(super) fn print(&self, line: &str) {
        let mut printed = lock(&self.printed);
        printed.length += proxy_json::quote(line).len() as u64;
        if printed.length > printed.limit {
            self.send_printed(&mut printed);
            WorkerExit::Output.now();
        }
        printed.text.push_str(line);
        printed.text.push('\n');
        if printed.is_due() {
            self.send_printed(&mut printed);
        }
    }

    fn send_printed(&self, printed: &mut PrintBuffer) {
        if printed.text.is_empty() {
            return;
        }
        printed.sent = printed.sent.saturating_add(1);
        printed.last_sent = Some(Instant::now());
        self.write(&ToParent::Printed(std::mem::take(&mut printed.text)));
    }

    /// Sends the result of the script, and waits to be killed.
    pub(super) fn finish(&self, result: ScriptResult, limit: u64) -> ! {
        let returned = result.as_ref().map_or(0, |value| value.get().len() as u64);
        let printed = {
            let mut printed = lock(&self.printed);
            self.send_printed(&mut printed);
            printed.length
        };
        if returned + printed > limit {
            WorkerExit::Output.now();
        }
        self.write(&ToParent::Done(result));
        // The proxy kills the process once it has read the result.
        loop {
            std::thread::park();
        }
    }

    /// Sends a message, after everything that was printed before.
    pub(super) fn send(&self, message: &ToParent) {
        self.send_printed(&mut lock(&self.printed));
        self.write(message);
    }

    fn write(&self, message: &ToParent) {
        if send_blocking(&*self.socket, message).is_err() {
            WorkerExit::Parent.now();
        }
    }
}
