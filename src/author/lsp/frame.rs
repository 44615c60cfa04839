//! Messages on the wire: a header with the length, an empty line, JSON.

use std::io::{self, BufRead, Write};

use serde_json::Value;

/// Longer messages are nobody's script.
const MOST: usize = 16 << 20;
/// Headers are a line or two.
const MOST_HEADERS: usize = 100;

/// What came in.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Message(Value),
    /// Something that is no message, and why. What follows may be one again.
    Malformed(String),
    End,
}

pub(super) fn read(input: &mut impl BufRead) -> io::Result<Incoming> {
    let mut length = None;
    for _ in 0..MOST_HEADERS {
        let mut line = Vec::new();
        if io::Read::take(&mut *input, 4096).read_until(b'\n', &mut line)? == 0 {
            return Ok(Incoming::End);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        match (line.is_empty(), length) {
            (true, Some(length)) => return body(input, length),
            (true, None) => return Ok(Incoming::Malformed("a header without `Content-Length`".to_owned())),
            (false, _) => {}
        }
        let Some((name, value)) = line.split_once(':') else {
            return Ok(Incoming::Malformed("this is no header line".to_owned()));
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            match value.trim().parse::<usize>() {
                Ok(number) if number <= MOST => length = Some(number),
                _ => return Ok(Incoming::Malformed(format!("`Content-Length` must be a number up to {MOST}"))),
            }
        }
    }
    Ok(Incoming::Malformed("too many header lines".to_owned()))
}

fn body(input: &mut impl BufRead, length: usize) -> io::Result<Incoming> {
    let mut bytes = vec![0; length];
    match input.read_exact(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Incoming::End),
        other => other?,
    }
    Ok(match serde_json::from_slice(&bytes) {
        Ok(message @ Value::Object(_)) => Incoming::Message(message),
        Ok(_) => Incoming::Malformed("a message is a JSON object".to_owned()),
        Err(error) => Incoming::Malformed(error.to_string()),
    })
}

pub(super) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_and_rubbish_between_is_told() {
        let mut wire = Vec::new();
        write(&mut wire, &json!({"a": "ü"})).unwrap();
        wire.extend(
            b"rubbish\r\nContent-Length: 3\r\n\r\n{]}Content-Length: 999999999999\r\n\r\nContent-Length: 2\r\n\r\n[]",
        );
        write(&mut wire, &json!({"b": 1})).unwrap();
        let mut input = wire.as_slice();
        assert_eq!(read(&mut input).unwrap(), Incoming::Message(json!({"a": "ü"})));
        let mut malformed = 0;
        loop {
            match read(&mut input).unwrap() {
                Incoming::Malformed(_) => malformed += 1,
                Incoming::Message(message) => break assert_eq!(message, json!({"b": 1})),
                Incoming::End => panic!("the message was lost"),
            }
        }
        assert!(malformed >= 3);
        assert_eq!(read(&mut input).unwrap(), Incoming::End);
    }
}
