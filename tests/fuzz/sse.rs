use std::collections::VecDeque;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proxy_wire::sse::{self, Event, Parser};

use super::damage::damaged;
use super::{chunks, fuzz};

fn events(parts: &[Vec<u8>]) -> (Vec<Event>, Option<String>) {
    let (mut parser, mut found) = (Parser::cutting(64 * 1024), VecDeque::new());
    for part in parts {
        parser.push(part, &mut found).expect("a cutting parser refuses nothing");
    }
    (found.into(), parser.last_id().map(str::to_owned))
}

/// How a stream is split into packets changes nothing.
#[test]
fn events_do_not_depend_on_packets() {
    let input = (damaged(include_str!("../corpus/fuzz/events.txt")), vec(any::<Index>(), 0..6));
    fuzz(&input, |(bytes, cuts)| {
        prop_assert_eq!(events(std::slice::from_ref(&bytes)), events(&chunks(&bytes, &cuts)));
        Ok(())
    });
}

/// A message that the proxy writes as an event is read as that message, whatever stood before it in the stream.
#[test]
fn written_events_are_read_back() {
    let input = (damaged(include_str!("../corpus/fuzz/events.txt")), "[^\r\n\0]{0,40}", "[^\r\n]{1,80}");
    fuzz(&input, |(before, id, message)| {
        let mut stream = before;
        stream.extend_from_slice(b"\n\n");
        stream.extend_from_slice(&sse::event(Some(&id), message.as_bytes()));
        let (found, last_id) = events(&[stream]);
        prop_assert_eq!(found.last().map(|event| event.data.as_str()), Some(message.as_str()));
        prop_assert_eq!(last_id, Some(id));
        Ok(())
    });
}
