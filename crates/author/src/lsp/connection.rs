//! Reads and writes messages. `lsp_server::Connection` is not used because it ends at the first malformed message.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use lsp_server::{ErrorCode, Message};
use parking_lot::Mutex;
use serde_json::json;

/// The size of the longest message, in bytes. No script is that long.
const MAX_MESSAGE: u64 = 16 << 20;
/// The size of the longest header line, in bytes.
const MAX_HEADER_LINE: u64 = 4096;

/// Input from the client.
#[derive(Debug)]
pub(super) enum Incoming {
    Message(Message),
    /// Input that is not a message, with the reason. The next message may be valid again.
    Malformed(String),
    /// The end of the input.
    Closed,
}

/// Reads the next message. `Message::read` is not used because it allocates whatever length a header names.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Incoming> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(MAX_HEADER_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(Incoming::Closed);
        }
        let line = String::from_utf8_lossy(&line);
        match (line.trim(), length) {
            ("", Some(length)) => return read_body(input, length),
            ("", None) => return Ok(Incoming::Malformed("a header without `Content-Length`".to_owned())),
            (line, _) => match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("Content-Length") => match value.trim().parse() {
                    Ok(value) => length = Some(value),
                    Err(error) => return Ok(Incoming::Malformed(format!("invalid `Content-Length`: {error}"))),
                },
                // `Content-Type` has one possible value.
                Some(_) => {}
                None => return Ok(Incoming::Malformed("a header line without `:`".to_owned())),
            },
        }
    }
}

fn read_body(input: &mut impl BufRead, length: u64) -> io::Result<Incoming> {
    let mut body = input.take(length);
    if length > MAX_MESSAGE {
        // The next message begins after this one.
        io::copy(&mut body, &mut io::sink())?;
        let reason = format!("the message has {length} bytes; at most {MAX_MESSAGE} are read");
        return Ok(Incoming::Malformed(reason));
    }
    let mut bytes = Vec::new();
    if (body.read_to_end(&mut bytes)? as u64) < length {
        return Ok(Incoming::Closed);
    }
    Ok(match serde_json::from_slice(&bytes) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Malformed(format!("malformed message: {error}")),
    })
}

/// The output to the client, shared by the server and the worker. Both write whole messages.
#[derive(Clone)]
pub(super) struct ClientOutput(Arc<Mutex<Box<dyn Write + Send>>>);

impl ClientOutput {
    pub(super) fn new(output: Box<dyn Write + Send>) -> Self {
        ClientOutput(Arc::new(Mutex::new(output)))
    }

    pub(super) fn send(&self, message: impl Into<Message>) {
        let message = message.into();
        self.write(|output| message.write(output));
    }

    /// Reports a malformed message. `lsp_server::Response` cannot represent it: its ID is null.
    pub(super) fn send_parse_error(&self, reason: &str) {
        let error = json!({"code": ErrorCode::ParseError as i32, "message": reason});
        let text = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
        self.write(|output| {
            write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
            output.flush()
        });
    }

    /// Ignores errors: when the client has closed its end, reading the input ends the server.
    fn write(&self, write: impl FnOnce(&mut Box<dyn Write + Send>) -> io::Result<()>) {
        let _ = write(&mut self.0.lock());
    }
}

#[cfg(test)]
mod tests {
    use lsp_server::Notification;

    use super::*;

    #[test]
    fn a_message_beyond_the_limit_is_reported_and_skipped() {
        let mut wire = format!("Content-Length: {}\r\n\r\n", MAX_MESSAGE + 1).into_bytes();
        wire.resize(wire.len() + 1 + usize::try_from(MAX_MESSAGE).unwrap(), b' ');
        Message::from(Notification::new("next".to_owned(), json!({}))).write(&mut wire).unwrap();
        wire.extend(format!("Content-Length: {}\r\n\r\nand then the client is gone", u64::MAX).bytes());
        let mut input = wire.as_slice();
        let Incoming::Malformed(reason) = read(&mut input).unwrap() else { panic!("it is too long") };
        assert_eq!(reason, "the message has 16777217 bytes; at most 16777216 are read");
        let Incoming::Message(Message::Notification(next)) = read(&mut input).unwrap() else { panic!("not the next") };
        assert_eq!(next.method, "next");
        assert!(matches!(read(&mut input).unwrap(), Incoming::Malformed(_)));
        assert!(matches!(read(&mut input).unwrap(), Incoming::Closed));
    }

    #[test]
    fn a_header_without_an_end_is_read_in_pieces() {
        let mut input = io::repeat(b'x').take(10 * MAX_HEADER_LINE);
        assert!(matches!(read(&mut io::BufReader::new(&mut input)).unwrap(), Incoming::Malformed(_)));
        assert!(input.limit() > 0, "the rest is not read yet");
    }

    #[test]
    fn messages_after_malformed_input_are_read() {
        let mut wire = Vec::new();
        let message = |method: &str| Message::from(Notification::new(method.to_owned(), json!({"text": "ü"})));
        message("first").write(&mut wire).unwrap();
        wire.extend(b"rubbish\r\nContent-Length: 3\r\n\r\n{]}Content-Length: many\r\n\r\nContent-Length: 2\r\n\r\n[]");
        message("last").write(&mut wire).unwrap();
        let mut input = wire.as_slice();
        let mut methods = Vec::new();
        let mut malformed = 0;
        loop {
            match read(&mut input).unwrap() {
                Incoming::Message(Message::Notification(notification)) => methods.push(notification.method),
                Incoming::Message(other) => panic!("not a notification: {other:?}"),
                Incoming::Malformed(_) => malformed += 1,
                Incoming::Closed => break,
            }
        }
        assert_eq!((methods, malformed), (vec!["first".to_owned(), "last".to_owned()], 5));
    }
}
