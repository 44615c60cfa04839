//! Reads and writes messages. `lsp_server::Connection` is not used because it ends at the first malformed message.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use lsp_server::{ErrorCode, Message};
use parking_lot::Mutex;
use serde_json::json;

/// Input from the client.
#[derive(Debug)]
pub(super) enum Incoming {
    Message(Message),
    /// Input that is not a message, with the reason. The next message may be valid again.
    Malformed(String),
    /// The end of the input.
    Closed,
}

pub(super) fn read(input: &mut impl BufRead) -> io::Result<Incoming> {
    match Message::read(input) {
        Ok(Some(message)) => Ok(Incoming::Message(message)),
        Ok(None) => Ok(Incoming::Closed),
        Err(error) => match error.kind() {
            io::ErrorKind::InvalidData => Ok(Incoming::Malformed(error.to_string())),
            io::ErrorKind::UnexpectedEof => Ok(Incoming::Closed),
            _ => Err(error),
        },
    }
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
