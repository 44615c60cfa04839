//! The limit on log lines per server.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::LOG;
use crate::cli::table;

/// Lines about one server within [`PERIOD`]. A healthy server writes a few; a server at its most verbose level, some per
/// second.
const MAX_LINES: usize = 600;
const PERIOD: Duration = Duration::from_secs(60);

static SERVERS: LazyLock<Mutex<HashMap<String, Window>>> = LazyLock::new(Mutex::default);

/// The lines about one server since its first line of this period.
struct Window {
    began: Instant,
    lines: usize,
}

impl Window {
    fn left_out(&self) -> usize {
        self.lines.saturating_sub(MAX_LINES)
    }
}

/// Counts a line about a server; returns false if it exceeds the limit. [`report`] reports the omitted lines before a new
/// period begins.
pub(super) fn admit(server: &str, now: Instant) -> bool {
    let mut servers = SERVERS.lock();
    let window = servers.entry(server.to_owned()).or_insert(Window { began: now, lines: 0 });
    if now.duration_since(window.began) >= PERIOD && window.left_out() == 0 {
        *window = Window { began: now, lines: 0 };
    }
    window.lines += 1;
    window.lines <= MAX_LINES
}

/// Removes the servers whose period is over; returns those with omitted lines, and how many.
fn take_over(now: Instant, is_end: bool) -> Vec<(String, usize)> {
    let mut servers = SERVERS.lock();
    let over = servers.extract_if(|_, window| is_end || now.duration_since(window.began) >= PERIOD);
    over.map(|(server, window)| (server, window.left_out())).filter(|(_, lines)| *lines > 0).collect()
}

/// Logs the number of omitted lines for each server whose period is over, or for all servers on exit.
pub(super) fn report(is_end: bool) {
    for (server, lines) in take_over(Instant::now(), is_end) {
        let lines = table::count(lines, "line");
        tracing::warn!(target: LOG, server, "left out {lines}: the limit is {MAX_LINES} per minute for each server");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_so_many_lines_a_minute_and_the_rest_is_counted() {
        let began = Instant::now();
        let admitted = |server: &str, now| admit(&format!("test {server}"), now);
        assert_eq!((0..2000).filter(|_| admitted("loud", began)).count(), 600);
        assert_eq!((0..10).filter(|_| admitted("calm", began)).count(), 10);
        assert!(take_over(began + PERIOD / 2, false).is_empty());
        assert!(!admitted("loud", began + PERIOD), "the count comes first");
        assert_eq!(take_over(began + PERIOD, false), [("test loud".to_owned(), 1401)]);
        assert!(admitted("loud", began + PERIOD));
        assert!(admitted("calm", began + PERIOD));
        assert!(take_over(began + PERIOD * 2, false).is_empty());
    }
}
