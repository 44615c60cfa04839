//! How much of the log one server can fill.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::LOG;

/// Lines about one server within [`PERIOD`]. A server that works writes a few; one at its most talkative level some per
/// second.
const MAX_LINES: u64 = 600;
const PERIOD: Duration = Duration::from_secs(60);

static SERVERS: Mutex<Option<HashMap<String, Window>>> = Mutex::new(None);

/// The lines about one server since its first line of this period.
struct Window {
    began: Instant,
    lines: u64,
}

impl Window {
    fn left_out(&self) -> u64 {
        self.lines.saturating_sub(MAX_LINES)
    }
}

/// Counts a line about a server; false if it is one too many. What the last period left out is reported by
/// [`report`] before a new one begins.
pub(super) fn admit(server: &str, now: Instant) -> bool {
    let mut servers = SERVERS.lock();
    let window = servers.get_or_insert_default().entry(server.to_owned()).or_insert(Window { began: now, lines: 0 });
    if now.duration_since(window.began) >= PERIOD && window.left_out() == 0 {
        *window = Window { began: now, lines: 0 };
    }
    window.lines += 1;
    window.lines <= MAX_LINES
}

/// Forgets the servers whose period is over; returns those of which lines were left out, with their number.
fn take_over(now: Instant, is_end: bool) -> Vec<(String, u64)> {
    let mut left_out = Vec::new();
    if let Some(servers) = SERVERS.lock().as_mut() {
        servers.retain(|server, window| {
            let is_over = is_end || now.duration_since(window.began) >= PERIOD;
            if is_over && window.left_out() > 0 {
                left_out.push((server.clone(), window.left_out()));
            }
            !is_over
        });
    }
    left_out
}

/// Logs how many lines were left out, for each server whose period is over.
pub(super) fn report() {
    report_until(false);
}

/// Logs how many lines were left out at the end of the process.
pub(super) fn report_all() {
    report_until(true);
}

fn report_until(is_end: bool) {
    for (server, lines) in take_over(Instant::now(), is_end) {
        let noun = if lines == 1 { "line" } else { "lines" };
        tracing::warn!(target: LOG, server, "left out {lines} {noun}: the limit is {MAX_LINES} a minute for a server");
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
