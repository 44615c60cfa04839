//! Reads a recording. If the file was cut off, the complete lines count.

use std::io::BufRead;

use super::call_line::CallLine;
use super::catalog_line::CatalogLine;
use super::{RecordingLine, VERSION};

/// The content of a recording.
#[derive(Debug)]
pub struct RecordingFile {
    /// At least one, in the order of time.
    pub catalogs: Vec<CatalogLine>,
    /// In the order in which they began.
    pub calls: Vec<CallLine>,
    /// How many calls are missing because they were not read in time.
    pub dropped: u64,
    /// The number of the line in which the file was cut off.
    pub cut_off: Option<usize>,
}

/// Why a file is not a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("it is empty")]
    Empty,
    #[error("line 1 is not the start of a recording: {0}")]
    NoStart(String),
    #[error("it has format version {0}, but this proxy reads version {VERSION}")]
    Version(u32),
    #[error("line {line} is not part of a recording: {reason}")]
    Line { line: usize, reason: String },
}

impl RecordingFile {
    /// One call alone.
    pub fn of_call(catalog: CatalogLine, call: CallLine) -> Self {
        RecordingFile { catalogs: vec![catalog], calls: vec![call], dropped: 0, cut_off: None }
    }

    pub fn read(mut input: impl BufRead) -> Result<Self, RecordingError> {
        let mut text = Vec::new();
        if input.read_until(b'\n', &mut text)? == 0 {
            return Err(RecordingError::Empty);
        }
        let start = match serde_json::from_slice(&text) {
            Ok(RecordingLine::Start(start)) if start.version == VERSION => start,
            Ok(RecordingLine::Start(start)) => return Err(RecordingError::Version(start.version)),
            Ok(_) => return Err(RecordingError::NoStart("it has something else".to_owned())),
            Err(error) => return Err(RecordingError::NoStart(reason(&error))),
        };
        let mut file = RecordingFile { catalogs: vec![start.catalog], calls: Vec::new(), dropped: 0, cut_off: None };
        for line in 2.. {
            text.clear();
            if input.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            match serde_json::from_slice(&text) {
                Ok(RecordingLine::Call(call)) => file.calls.push(*call),
                Ok(RecordingLine::Catalog(catalog)) => file.catalogs.push(catalog),
                Ok(RecordingLine::Dropped(number)) => file.dropped += number,
                Ok(RecordingLine::Start(_)) => {
                    let reason = "a second recording starts here".to_owned();
                    return Err(RecordingError::Line { line, reason });
                }
                // The recording process was ended in the middle of a line.
                Err(_) if !text.ends_with(b"\n") => file.cut_off = Some(line),
                Err(error) => return Err(RecordingError::Line { line, reason: reason(&error) }),
            }
        }
        // They were written when they ended.
        file.calls.sort_by_key(CallLine::began);
        Ok(file)
    }
}

/// The error without the position, which is one within the line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str =
        r#"{"start":{"version":1,"proxy":"1.0.0","catalog":{"at":"2026-01-01T00:00:00Z","script":null,"servers":[]}}}"#;

    fn read(text: &str) -> Result<RecordingFile, String> {
        RecordingFile::read(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_whole_counts_and_the_rest_is_an_error() {
        let file = read(&format!("{START}\n{{\"dropped\":3}}\n{{\"dropped\":4}}\n")).unwrap();
        assert_eq!((file.dropped, file.cut_off, file.catalogs.len()), (7, None, 1));
        let file = read(&format!("{START}\n{{\"dropped\":3}}\n{{\"drop")).unwrap();
        assert_eq!((file.dropped, file.cut_off), (3, Some(3)));
        let file = read(&format!("{START}\n{{\"dropped\":3}}")).unwrap();
        assert_eq!((file.dropped, file.cut_off), (3, None), "only the line feed is missing");
        for (text, expected) in [
            (String::new(), "it is empty"),
            ("{}\n".to_owned(), "line 1 is not the start of a recording"),
            (START.replace("\"version\":1", "\"version\":7"), "it has format version 7"),
            (START[..40].to_owned(), "line 1 is not the start of a recording: EOF"),
            (format!("{START}\nhello\n{{\"dropped\":1}}\n"), "line 2 is not part of a recording: expected value"),
            (format!("{START}\n{START}\n"), "line 2 is not part of a recording: a second recording starts here"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
