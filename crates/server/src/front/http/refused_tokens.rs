//! Requests without a valid token: counted, slowed down for each address, and reported in the log. Requests with a valid
//! token are not affected, whatever others at the same address do.
//!
//! The crate `governor` does not fit: it says whether something is allowed now, but gives nobody a place in a queue, and
//! its keyed limiters have no limit of keys.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use proxy_identity::bearer::network;
use proxy_telemetry::Telemetry;
use proxy_telemetry::audit::AuditEntry;

/// How many refusals an address gets at once, before they are slowed down.
const BURST: u32 = 10;
/// The time between two refusals of one address after that.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest time that a refusal is held back. If more are waiting, the next ones get 429 at once.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// The maximum number of addresses that are remembered. Beyond it, further addresses count as one.
const MAX_ADDRESSES: usize = 4096;
/// The minimum time between two lines in the log.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// What happens to a request without a valid token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slowdown {
    /// It is refused after this time.
    Delay(Duration),
    /// Too many of the same address are waiting already. The next one is due after this time.
    TooMany(Duration),
}

#[derive(Debug)]
pub(super) struct RefusedTokens {
    state: Mutex<State>,
    telemetry: Arc<Telemetry>,
}

/// Refusals that are reported together.
#[derive(Debug, PartialEq, Eq)]
struct RefusalReport {
    requests: u64,
    last_peer: Option<IpAddr>,
}

impl fmt::Display for RefusalReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.requests {
            1 => formatter.write_str("refused 1 request")?,
            number => write!(formatter, "refused {number} requests")?,
        }
        let peer = self.last_peer.map_or_else(|| "an unknown address".to_owned(), |peer| peer.to_string());
        write!(formatter, " without a valid token (401), the last one from {peer}")
    }
}

#[derive(Debug, Default)]
struct State {
    /// For each address with recent refusals, the time at which its next one is due if they come at [`INTERVAL`].
    due: HashMap<Option<IpAddr>, Instant>,
    /// Refusals since the last line in the log.
    unreported: u64,
    last_peer: Option<IpAddr>,
    last_report: Option<Instant>,
}

impl RefusedTokens {
    pub(super) fn new(telemetry: &Arc<Telemetry>) -> Self {
        RefusedTokens { state: Mutex::default(), telemetry: Arc::clone(telemetry) }
    }

    /// Counts a refusal of this address.
    pub(super) fn count(&self, peer: Option<IpAddr>) -> Slowdown {
        let (slowdown, report) = {
            let (mut state, now) = (self.state.lock(), Instant::now());
            (state.count(peer, now), state.report(now))
        };
        self.write(report);
        slowdown
    }

    /// Counts a refusal that is not slowed down, and slows down no other: nobody guesses such a token.
    pub(super) fn note(&self, peer: Option<IpAddr>) -> Slowdown {
        let report = {
            let mut state = self.state.lock();
            state.note(peer);
            state.report(Instant::now())
        };
        self.write(report);
        Slowdown::Delay(Duration::ZERO)
    }

    /// Writes a line to the log, and to the audit log, if refusals have not been reported for a while.
    pub(super) fn report(&self) {
        let report = self.state.lock().report(Instant::now());
        self.write(report);
    }

    fn write(&self, report: Option<RefusalReport>) {
        let Some(report) = report else { return };
        tracing::warn!("{report}");
        if let Some(audit) = self.telemetry.audit() {
            let RefusalReport { requests, last_peer } = report;
            audit.add(AuditEntry::Unauthenticated { at: SystemTime::now(), requests, last_peer });
        }
    }
}

impl State {
    fn note(&mut self, peer: Option<IpAddr>) {
        self.unreported += 1;
        self.last_peer = peer;
    }

    fn count(&mut self, peer: Option<IpAddr>, now: Instant) -> Slowdown {
        self.note(peer);
        let mut key = peer.map(network);
        if !self.due.contains_key(&key) && self.due.len() >= MAX_ADDRESSES {
            self.due.retain(|_, due| *due > now);
            if self.due.len() >= MAX_ADDRESSES {
                key = None;
            }
        }
        let due = self.due.entry(key).or_insert(now);
        let next = (*due).max(now) + INTERVAL;
        let delay = next.saturating_duration_since(now).saturating_sub(INTERVAL * BURST);
        if delay > MAX_DELAY {
            return Slowdown::TooMany(delay);
        }
        *due = next;
        Slowdown::Delay(delay)
    }

    /// What is to be reported; none if there is nothing, or the last report is recent.
    fn report(&mut self, now: Instant) -> Option<RefusalReport> {
        let is_recent = self.last_report.is_some_and(|last| now.duration_since(last) < REPORT_INTERVAL);
        if self.unreported == 0 || is_recent {
            return None;
        }
        self.last_report = Some(now);
        Some(RefusalReport { requests: std::mem::take(&mut self.unreported), last_peer: self.last_peer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> Option<IpAddr> {
        Some(IpAddr::from(number.to_be_bytes()))
    }

    #[test]
    fn after_a_burst_one_a_second_is_refused_and_who_waits_too_long_is_told_so() {
        let (mut state, now) = (State::default(), Instant::now());
        let delay = Slowdown::Delay;
        for _ in 0..BURST {
            assert_eq!(state.count(address(1), now), delay(Duration::ZERO));
        }
        for second in 1..=10 {
            assert_eq!(state.count(address(1), now), delay(INTERVAL * second));
        }
        for _ in 0..3 {
            assert_eq!(state.count(address(1), now), Slowdown::TooMany(INTERVAL * 11), "they do not add up");
        }
        assert_eq!(state.count(address(2), now), delay(Duration::ZERO), "another address");
        let later = now + Duration::from_secs(3600);
        assert_eq!(state.count(address(1), later), delay(Duration::ZERO), "it is forgotten");
    }

    #[test]
    fn the_addresses_of_one_network_count_as_one_and_all_together_have_a_bound() {
        let (mut state, now) = (State::default(), Instant::now());
        for text in ["2001:db8::1", "2001:db8::2:3", "::ffff:10.0.0.1", "10.0.0.1"] {
            state.count(text.parse().ok(), now);
        }
        assert_eq!(state.due.len(), 2);
        for number in 0..100_000 {
            state.count(address(number), now);
        }
        assert!(state.due.len() <= MAX_ADDRESSES + 1, "{}", state.due.len());
        assert!(matches!(state.count(address(200_000), now), Slowdown::TooMany(_)), "those beyond count as one");
        state.count(address(1), now + Duration::from_secs(3600));
        assert!(matches!(state.count(address(200_000), now + Duration::from_secs(3600)), Slowdown::Delay(_)));
    }

    #[test]
    fn the_log_has_one_line_a_minute_with_the_count() {
        let (mut state, now) = (State::default(), Instant::now());
        assert_eq!(state.report(now), None);
        state.count(address(0x7f00_0001), now);
        let first = "refused 1 request without a valid token (401), the last one from 127.0.0.1";
        assert_eq!(state.report(now).map(|report| report.to_string()).as_deref(), Some(first));
        for _ in 0..500 {
            state.count(address(0x7f00_0001), now);
            assert_eq!(state.report(now), None);
        }
        let line = state.report(now + REPORT_INTERVAL);
        assert!(line.is_some_and(|line| line.to_string().starts_with("refused 500 requests")));
    }
}
