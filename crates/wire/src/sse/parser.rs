//! An incremental parser of event streams.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

/// The type of an event for which the stream names none.
const MESSAGE: &str = "message";

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Event {
    /// The event type; `message` if the stream does not name one.
    pub kind: Cow<'static, str>,
    pub data: String,
    /// For an event over the size limit: the end of its data. `data` has the beginning, and the middle is lost.
    pub cut_end: Option<String>,
}

/// How much of either end of an event over the limit is kept.
const KEPT_BYTES: usize = 4096;

/// An event exceeded the size limit.
#[derive(Debug, PartialEq, Eq)]
pub struct Overflow;

/// Accepts lines that end with LF, CR or CRLF, and characters that are split over chunks. An event without the empty line
/// at its end is never returned.
#[derive(Debug)]
pub struct Parser {
    /// The beginning of a line that goes on in the next chunk.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    kind: Cow<'static, str>,
    /// The id of the current event. It becomes `last_id` once the event is complete: resuming after an event that broke
    /// off would lose that event.
    pending_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    max_event: usize,
    /// Whether an event over the limit is cut; otherwise it is an error.
    cuts: bool,
    /// Whether the current event exceeds the limit.
    is_cut: bool,
    after_cr: bool,
    first_line: bool,
}

impl Parser {
    pub fn new(max_event: usize) -> Self {
        Parser {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            kind: MESSAGE.into(),
            pending_id: None,
            last_id: None,
            retry: None,
            max_event,
            cuts: false,
            is_cut: false,
            after_cr: false,
            first_line: true,
        }
    }

    /// A parser that cuts events over the limit, for a stream that must survive them.
    pub fn cutting(max_event: usize) -> Self {
        Parser { cuts: true, ..Parser::new(max_event) }
    }

    /// The id of the last complete event, to resume from.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants a client to wait before it reconnects.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Parses the next chunk and appends the events that it completes.
    pub fn push(&mut self, chunk: &[u8], events: &mut VecDeque<Event>) -> Result<(), Overflow> {
        let mut rest = chunk;
        if self.after_cr && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        if !chunk.is_empty() {
            self.after_cr = false;
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, was_cr) = (&rest[..end], rest[end] == b'\r');
            rest = &rest[end + 1..];
            if was_cr {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    None => self.after_cr = true,
                    Some(_) => {}
                }
            }
            if self.line.is_empty() {
                self.end_of_line(line, events);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.end_of_line(&whole, events);
            }
            self.check()?;
        }
        self.line.extend_from_slice(rest);
        self.check()
    }

    /// Enforces the size limit.
    fn check(&mut self) -> Result<(), Overflow> {
        if self.line.len() + self.data.len() > self.max_event {
            self.is_cut = true;
        }
        if self.is_cut {
            if !self.cuts {
                return Err(Overflow);
            }
            cut(&mut self.line);
            cut(&mut self.data);
        }
        Ok(())
    }

    fn end_of_line(&mut self, line: &[u8], events: &mut VecDeque<Event>) {
        let is_first = std::mem::take(&mut self.first_line);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| is_first).unwrap_or(line);
        if line.is_empty() {
            self.dispatch(events);
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(0) => return,
            Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..])),
            None => (line, &b""[..]),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" if value.is_empty() || value == MESSAGE.as_bytes() => self.kind = MESSAGE.into(),
            b"event" => self.kind = text().into(),
            b"id" if !value.contains(&0) => self.pending_id = Some(text()),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let milliseconds = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                self.retry = milliseconds.map(Duration::from_millis);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut VecDeque<Event>) {
        let data = std::mem::take(&mut self.data);
        let kind = std::mem::replace(&mut self.kind, MESSAGE.into());
        let is_cut = std::mem::take(&mut self.is_cut);
        self.has_data = false;
        if let Some(id) = self.pending_id.take() {
            self.last_id = Some(id);
        }
        if data.is_empty() {
            return;
        }
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        events.push_back(if is_cut {
            let (data, end) = data.split_at(data.len().min(KEPT_BYTES));
            Event { kind, data: lossy(data), cut_end: Some(lossy(end)) }
        } else {
            let data = String::from_utf8(data).unwrap_or_else(|invalid| lossy(invalid.as_bytes()));
            Event { kind, data, cut_end: None }
        });
    }
}

/// Removes the middle.
fn cut(bytes: &mut Vec<u8>) {
    if bytes.len() > 2 * KEPT_BYTES {
        bytes.drain(KEPT_BYTES..bytes.len() - KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(chunks: &[&[u8]]) -> (Parser, VecDeque<Event>) {
        let mut parser = Parser::new(1024);
        let mut events = VecDeque::new();
        for chunk in chunks {
            parser.push(chunk, &mut events).unwrap();
        }
        (parser, events)
    }

    fn data(chunks: &[&[u8]]) -> Vec<String> {
        parse(chunks).1.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn every_line_ending_works() {
        assert_eq!(data(&[b"data: a\n\ndata: b\r\rdata: c\r\n\r\n"]), ["a", "b", "c"]);
        assert_eq!(data(&[b"data: a\r", b"\n\r", b"\ndata: b\n\n"]), ["a", "b"]);
    }

    #[test]
    fn data_lines_are_joined_and_one_leading_space_is_removed() {
        assert_eq!(data(&[b"data:x\ndata:  y\n\n"]), ["x\n y"]);
    }

    #[test]
    fn a_character_split_over_chunks_is_whole_again() {
        let text = "data: é\n\n".as_bytes();
        assert_eq!(data(&[&text[..7], &text[7..]]), ["é"]);
    }

    #[test]
    fn an_event_without_data_only_sets_the_id() {
        let (parser, events) = parse(&[b"id: 7\nretry: 1500\ndata:\n\n: comment\n\nretry: x\n\n"]);
        assert!(events.is_empty());
        assert_eq!(parser.last_id(), Some("7"));
        assert_eq!(parser.retry(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn the_id_of_an_event_counts_once_the_event_is_whole() {
        let (mut parser, mut events) = parse(&[b"id: 1\ndata: a\n\nid: 2\ndata: b\n"]);
        assert_eq!(parser.last_id(), Some("1"));
        parser.push(b"\n", &mut events).unwrap();
        assert_eq!((parser.last_id(), events.len()), (Some("2"), 2));
    }

    #[test]
    fn an_unterminated_event_is_dropped_and_a_bom_ignored() {
        assert_eq!(data(&[b"\xEF\xBB\xBFdata: a\n\ndata: b"]), ["a"]);
    }

    #[test]
    fn other_event_types_are_named() {
        let kinds = |stream: &[u8]| parse(&[stream]).1.into_iter().map(|event| event.kind).collect::<Vec<_>>();
        assert_eq!(kinds(b"event: ping\ndata: 1\n\ndata: 2\n\n"), ["ping", "message"]);
        assert_eq!(kinds(b"event: ping\nevent:\ndata: 1\n\nevent: x\nevent: message\ndata: 2\n\n"), ["message"; 2]);
    }

    #[test]
    fn an_event_over_the_limit_is_an_overflow() {
        let mut parser = Parser::new(64);
        assert_eq!(parser.push(&[b'x'; 100], &mut VecDeque::new()), Err(Overflow));
    }

    #[test]
    fn a_stream_can_survive_an_event_over_the_limit() {
        let event = |length: usize| format!("data: begin {} end\n\n", "x".repeat(length)).into_bytes();
        let stream = [event(10), event(100_000), b"data: next\n\n".to_vec(), vec![b':'; 90_000], event(4)].concat();
        for size in [1, 1000, 1 << 20] {
            let (mut parser, mut events) = (Parser::cutting(20_000), VecDeque::new());
            stream.chunks(size).for_each(|chunk| parser.push(chunk, &mut events).unwrap());
            assert_eq!(events.len(), 3, "what the long comment swallowed is gone");
            let ends = events[1].cut_end.as_deref().unwrap();
            assert!(events[1].data.starts_with("begin xx") && ends.ends_with("xx end"));
            assert!(events[1].data.len() + ends.len() <= 2 * KEPT_BYTES);
            assert_eq!((events[2].data.as_str(), &events[2].cut_end), ("next", &None));
        }
    }

    #[test]
    fn a_flood_of_comments_is_no_overflow() {
        let mut parser = Parser::new(64);
        for _ in 0..1000 {
            parser.push(b": comment\n", &mut VecDeque::new()).unwrap();
        }
    }
}
