use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proxy_wire::{InputLine, LineReader};

use super::damage::damaged;
use super::{chunks, fuzz};

const MAX_LENGTH: usize = 700;

/// Every line that the reader returns, and how long it was.
fn lines(parts: Vec<Vec<u8>>) -> Vec<(Vec<u8>, usize)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let stream = tokio_util::io::StreamReader::new(futures::stream::iter(
            parts.into_iter().map(|part| Ok::<_, std::io::Error>(bytes::Bytes::from(part))),
        ));
        let mut reader = LineReader::new(stream, MAX_LENGTH);
        let mut found = Vec::new();
        while let Some(line) = reader.next().await.expect("reading from memory") {
            found.push(match line {
                InputLine::Text(text) => (text.to_vec(), text.len()),
                InputLine::TooLong { head, length, .. } => (head, length),
            });
        }
        found
    })
}

/// How bytes are split into packets changes nothing, and no line over the limit is returned as text.
#[test]
fn lines_do_not_depend_on_packets() {
    let input = (damaged(include_str!("../corpus/fuzz/messages.txt")), vec(any::<Index>(), 0..6));
    fuzz(&input, |(bytes, cuts)| {
        let bytes: Vec<u8> = bytes.into_iter().chain(*b"\n").collect();
        let whole = lines(vec![bytes.clone()]);
        let parts: Vec<_> = chunks(&bytes, &cuts).into_iter().filter(|part| !part.is_empty()).collect();
        prop_assert_eq!(&whole, &lines(parts));
        let text = whole.iter().filter(|(_, length)| *length <= MAX_LENGTH);
        prop_assert!(text.clone().all(|(line, _)| !line.is_empty() && !line.contains(&b'\n')));
        Ok(())
    });
}
