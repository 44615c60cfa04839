//! Where the body of an answer ends, and what of it has come.

use bytes::{Buf, Bytes, BytesMut};

use super::head::odd;
use crate::wire::http::HttpError;

/// The line before a chunk is short; so are the ones behind the last.
const LONGEST_LINE: usize = 16 << 10;

/// How much of a body is still to come.
#[derive(Debug)]
pub(super) enum Framing {
    /// So many bytes.
    Whole(u64),
    Chunked(Chunks),
    /// As much as comes before the connection is closed.
    ToTheEnd,
}

#[derive(Debug)]
pub(super) enum Chunks {
    /// Before the line that says how long the next one is.
    Length,
    /// So many bytes of one.
    Data(u64),
    /// Before the line break behind one.
    Break,
    /// Behind the last one: lines up to an empty one.
    Trailers,
    Done,
}

/// What is to be had from what has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Data(Bytes),
    /// Nothing, before more has come.
    Wait,
    End,
}

impl Framing {
    pub(super) fn whole(length: u64) -> Self {
        Framing::Whole(length)
    }

    pub(super) fn chunked() -> Self {
        Framing::Chunked(Chunks::Length)
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, Framing::Whole(0) | Framing::Chunked(Chunks::Done))
    }

    /// Takes the next piece off the beginning of what has come.
    pub(super) fn take(&mut self, buffer: &mut BytesMut) -> Result<Piece, HttpError> {
        match self {
            Framing::Whole(left) => Ok(data(left, buffer)),
            Framing::Chunked(chunks) => chunks.take(buffer),
            Framing::ToTheEnd if buffer.is_empty() => Ok(Piece::Wait),
            Framing::ToTheEnd => Ok(Piece::Data(buffer.split().freeze())),
        }
    }

    /// Whether it may end here, because the connection was closed.
    pub(super) fn may_end(&self) -> bool {
        self.is_done() || matches!(self, Framing::ToTheEnd)
    }
}

fn data(left: &mut u64, buffer: &mut BytesMut) -> Piece {
    let there = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
    match (*left, there) {
        (0, _) => Piece::End,
        (_, 0) => Piece::Wait,
        _ => {
            *left -= there as u64;
            Piece::Data(buffer.split_to(there).freeze())
        }
    }
}

impl Chunks {
    fn take(&mut self, buffer: &mut BytesMut) -> Result<Piece, HttpError> {
        loop {
            *self = match self {
                Chunks::Length => {
                    let Some(line) = line(buffer)? else { return Ok(Piece::Wait) };
                    match length(&line)? {
                        0 => Chunks::Trailers,
                        length => Chunks::Data(length),
                    }
                }
                Chunks::Data(left) => match data(left, buffer) {
                    Piece::End => Chunks::Break,
                    other => return Ok(other),
                },
                Chunks::Break => match line(buffer)? {
                    None => return Ok(Piece::Wait),
                    Some(line) if line.is_empty() => Chunks::Length,
                    Some(_) => return Err(odd("a chunk is longer than it says")),
                },
                // They carry nothing for us.
                Chunks::Trailers => match line(buffer)? {
                    None => return Ok(Piece::Wait),
                    Some(line) if line.is_empty() => Chunks::Done,
                    Some(_) => Chunks::Trailers,
                },
                Chunks::Done => return Ok(Piece::End),
            };
        }
    }
}

/// The next line, without its end.
fn line(buffer: &mut BytesMut) -> Result<Option<Bytes>, HttpError> {
    match memchr::memchr(b'\n', buffer) {
        Some(end) if end <= LONGEST_LINE => {
            let line = buffer.split_to(end).freeze();
            buffer.advance(1);
            let text = line.strip_suffix(b"\r").ok_or_else(|| odd("a line ends without a return"))?;
            Ok(Some(line.slice_ref(text)))
        }
        None if buffer.len() <= LONGEST_LINE => Ok(None),
        _ => Err(odd("a line of a chunk has no end")),
    }
}

fn length(line: &[u8]) -> Result<u64, HttpError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let text = std::str::from_utf8(digits).unwrap_or_default();
    let hexadecimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| hexadecimal).ok_or_else(|| odd("the length of a chunk is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of a body that comes in pieces of so many bytes, and what is left behind it.
    fn read(mut framing: Framing, text: &[u8], at_once: usize) -> Result<(Vec<u8>, bool, usize), HttpError> {
        let (mut buffer, mut body) = (BytesMut::new(), Vec::new());
        let mut pieces = text.chunks(at_once);
        loop {
            match framing.take(&mut buffer)? {
                Piece::Data(data) => body.extend_from_slice(&data),
                Piece::End => return Ok((body, true, buffer.len() + pieces.map(<[u8]>::len).sum::<usize>())),
                Piece::Wait => match pieces.next() {
                    Some(piece) => buffer.extend_from_slice(piece),
                    None => return Ok((body, framing.may_end(), 0)),
                },
            }
        }
    }

    #[test]
    fn a_body_is_the_same_in_whatever_pieces_it_comes() {
        let chunked = b"5;name=\"x\"\r\nhello\r\n1 \r\n,\r\n00A\r\n the world\r\n0\r\nx-sum: 1\r\n\r\nnext";
        for at_once in 1..=chunked.len() {
            assert_eq!(read(Framing::chunked(), chunked, at_once).unwrap(), (b"hello, the world".to_vec(), true, 4));
            assert_eq!(read(Framing::whole(3), b"abcdef", at_once).unwrap(), (b"abc".to_vec(), true, 3));
            assert_eq!(read(Framing::ToTheEnd, b"abcdef", at_once).unwrap(), (b"abcdef".to_vec(), true, 0));
        }
        assert_eq!(read(Framing::whole(0), b"", 1).unwrap(), (Vec::new(), true, 0));
    }

    #[test]
    fn a_body_that_breaks_off_may_not_end_there() {
        assert!(!read(Framing::whole(3), b"ab", 1).unwrap().1);
        for text in ["", "5", "5\r\n", "5\r\nhello", "5\r\nhello\r\n", "0\r\n", "0\r\nx: y\r\n"] {
            assert!(!read(Framing::chunked(), text.as_bytes(), 9).unwrap().1, "{text:?}");
        }
    }

    #[test]
    fn chunks_that_make_no_sense_are_an_error() {
        let endless = "0".repeat(LONGEST_LINE + 1);
        let huge = format!("{}\r\n", "f".repeat(17));
        for text in ["x\r\n", "\r\n", "+5\r\nhello", "-1\r\n", "5\nhello", "5\r\nhello!\r\n", &endless, &huge] {
            assert!(read(Framing::chunked(), text.as_bytes(), text.len()).is_err(), "{text:.20}");
        }
    }
}
