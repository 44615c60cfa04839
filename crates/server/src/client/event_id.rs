//! The ids of the events on a session's streams.

use std::fmt;

use proxy_model::Home;

/// The number of the stream for messages that do not belong to a request.
pub(crate) const STANDALONE: u64 = 0;

/// The id of an event, which clients send as `Last-Event-ID`: `HOME-STREAM-NUMBER`. It names the process, because another
/// one that serves the session numbers its streams, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) home: Home,
    pub(crate) stream: u64,
    pub(crate) number: u64,
}

impl EventId {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (home, rest) = text.split_once('-')?;
        let (stream, number) = rest.split_once('-')?;
        Some(EventId { home: Home::parse(home)?, stream: stream.parse().ok()?, number: number.parse().ok()? })
    }

    /// The other process that has the stream, if it is the stream of a call.
    pub(crate) fn home_of_call(self) -> Option<Home> {
        (self.stream != STANDALONE && self.home != Home::of_this_process()).then_some(self.home)
    }

    /// Whether the event is of the stream for messages that do not belong to a request.
    pub(crate) fn is_of_listener(self) -> bool {
        self.stream == STANDALONE
    }

    /// An event of this process.
    pub(super) fn here(stream: u64, number: u64) -> Self {
        EventId { home: Home::of_this_process(), stream, number }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}-{}", self.home, self.stream, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let id = EventId::here(3, 7);
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        for other in ["", "3-7", "home-3-7", "00000000000000ab-3", "00000000000000ab-3-7-1", "00000000000000ab--7"] {
            assert_eq!(EventId::parse(other), None, "{other}");
        }
    }
}
