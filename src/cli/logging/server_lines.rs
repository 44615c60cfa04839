//! How much of the log one server can fill.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Lines about one server within [`PERIOD`]. A server that works writes a few; one at its most talkative level some per
/// second.
const MAX_LINES: u64 = 600;
const PERIOD: Duration = Duration::from_secs(60);
/// The target of the lines with counts, which are not counted themselves.
const TARGET: &str = "log";

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

/// Leaves out lines about a server that has too many. An entry is about a server if it has the field `server`. Whoever asks
/// for the levels below `info` wants all of it.
pub(super) struct ServerLines;

impl<S: Subscriber> Layer<S> for ServerLines {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let entry = event.metadata();
        if entry.target() == TARGET || *entry.level() > Level::INFO || entry.fields().field("server").is_none() {
            return true;
        }
        let mut server = ServerName::default();
        event.record(&mut server);
        admit(server.0, Instant::now())
    }
}

/// Counts a line about a server; false if it is one too many. What the last period left out is reported by
/// [`report`] before a new one begins.
fn admit(server: String, now: Instant) -> bool {
    let mut servers = SERVERS.lock();
    let window = servers.get_or_insert_default().entry(server).or_insert(Window { began: now, lines: 0 });
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
        tracing::warn!(target: TARGET, server, "left out {lines} {noun}: the limit is {MAX_LINES} a minute for a server");
    }
}

#[derive(Default)]
struct ServerName(String);

impl Visit for ServerName {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "server" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "server" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_so_many_lines_a_minute_and_the_rest_is_counted() {
        let began = Instant::now();
        let admitted = |server: &str, now| admit(format!("test {server}"), now);
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
