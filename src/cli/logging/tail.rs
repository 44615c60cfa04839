//! The last lines that each server wrote to stderr, for `proxy logs`. They are kept in memory, because at the usual level
//! they are not in the log.

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use jiff::Timestamp;
use parking_lot::Mutex;

/// How many lines of a server are kept.
const MAX_LINES: usize = 200;
/// How many bytes of a server's lines are kept.
const MAX_BYTES: usize = 256 << 10;

static SERVERS: LazyLock<Mutex<HashMap<String, Tail>>> = LazyLock::new(Mutex::default);

/// A line that a server wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct ServerLine {
    pub(in crate::cli) time: Timestamp,
    pub(in crate::cli) text: String,
}

#[derive(Default)]
struct Tail {
    lines: VecDeque<ServerLine>,
    bytes: usize,
}

impl Tail {
    fn push(&mut self, line: ServerLine) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.lines.len() > MAX_LINES || self.bytes > MAX_BYTES {
            let Some(gone) = self.lines.pop_front() else { return };
            self.bytes -= gone.text.len();
        }
    }
}

pub(super) fn push(server: &str, text: &str) {
    let line = ServerLine { time: Timestamp::now(), text: text.to_owned() };
    SERVERS.lock().entry(server.to_owned()).or_default().push(line);
}

/// Drops the lines of all other servers.
pub(super) fn retain(is_kept: impl Fn(&str) -> bool) {
    SERVERS.lock().retain(|name, _| is_kept(name));
}

/// The last lines of a server, oldest first.
pub(in crate::cli) fn lines_of(server: &str) -> Vec<ServerLine> {
    SERVERS.lock().get(server).map(|tail| tail.lines.iter().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_within_their_number_and_their_bytes() {
        for number in 0..300 {
            push("tail test", &format!("line {number}"));
        }
        let lines = lines_of("tail test");
        assert_eq!((lines.len(), lines[0].text.as_str(), lines[199].text.as_str()), (200, "line 100", "line 299"));
        for _ in 0..100 {
            push("tail test", &"x".repeat(4 << 10));
        }
        assert_eq!(lines_of("tail test").len(), 64);
        assert_eq!(lines_of("tail test of another"), []);
    }
}
