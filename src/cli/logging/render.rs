//! Renders an entry as a line: as text for people, or as JSON for programs. Untrusted text in it is escaped.

use std::borrow::Cow;
use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use tracing::Level;

use super::entry::{Entry, EntryLevel, Source};
use super::secrets;
use crate::cli::output::one_line;
use proxy_base::foreign_text::visible;

/// The start of a continuation line. Only the first line of an entry begins with a time, so that text in an entry cannot
/// look like another entry.
const CONTINUED: &str = "\n    ";

#[derive(Clone, Copy, Debug)]
pub(super) enum LineStyle {
    Text {
        colour: bool,
        /// Whether times are local, without the date.
        short_times: bool,
        /// Whether status lines are formatted like other entries. On standard error they are plain text.
        is_file: bool,
    },
    Json,
}

/// A local time of day.
pub(in crate::cli) fn short_time(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// A time in UTC with milliseconds, in the format of RFC 3339.
pub(in crate::cli) fn full_time(time: Timestamp) -> String {
    format!("{time:.3}")
}

impl LineStyle {
    /// The entry with the end of its line.
    pub(super) fn line(self, entry: &Entry) -> String {
        let mut line = match self {
            LineStyle::Json => json_line(entry, Timestamp::now()),
            LineStyle::Text { is_file: false, .. } if entry.source == Source::Status => {
                secrets::hidden(&entry.message).into_owned()
            }
            LineStyle::Text { colour, short_times, .. } => {
                let now = Timestamp::now();
                let time = if short_times { short_time(now) } else { full_time(now) };
                text_line(entry, &time, colour)
            }
        };
        line.push('\n');
        line
    }
}

fn text_line(entry: &Entry, time: &str, colour: bool) -> String {
    let (dim, bold, level_colour, plain) = match (colour, entry.level) {
        (false, _) => ("", "", "", ""),
        (true, EntryLevel::Audit) => (DIM, BOLD, "\x1b[36m", PLAIN),
        (true, EntryLevel::Of(Level::ERROR)) => (DIM, BOLD, "\x1b[31m", PLAIN),
        (true, EntryLevel::Of(Level::WARN)) => (DIM, BOLD, "\x1b[33m", PLAIN),
        (true, EntryLevel::Of(Level::INFO)) => (DIM, BOLD, "\x1b[32m", PLAIN),
        (true, EntryLevel::Of(_)) => (DIM, BOLD, "\x1b[34m", PLAIN),
    };
    let mut line = format!("{dim}{time}{plain} {level_colour}{:5}{plain} ", entry.level.word());
    if let Some(server) = &entry.server {
        let after = if entry.source == Source::Stderr { " |" } else { ":" };
        let _ = write!(line, "{bold}{}{plain}{after} ", one_line(server));
    } else if entry.source == Source::Script && entry.level != EntryLevel::Audit {
        let _ = write!(line, "{bold}script{plain}: ");
    }
    line.push_str(&visible(message(entry).trim_end_matches('\n')).replace('\n', CONTINUED));
    for (joint, name) in [(": ", "error"), ("; ", "said")] {
        if let Some(Value::String(text)) = entry.fields.get(name).filter(|_| entry.source == Source::Proxy) {
            let _ = write!(line, "{joint}{}", one_line(&secrets::hidden(text)));
        }
    }
    for (name, value) in shown_fields(entry) {
        let _ = write!(line, " {dim}{}={plain}{}", one_line(name), shown(value));
    }
    line
}

/// How many characters of a message on the wire are logged.
const MAX_MESSAGE: usize = 4 << 10;

/// The message of an entry without secrets. It is cut afterwards, so that no part of a secret is left.
fn message(entry: &Entry) -> Cow<'_, str> {
    let message = secrets::hidden(&entry.message);
    let end = message.char_indices().nth(MAX_MESSAGE).filter(|_| entry.source == Source::Message);
    match (end, entry.fields.get("bytes")) {
        (Some((end, _)), Some(bytes)) => format!("{}... ({bytes} bytes)", &message[..end]).into(),
        _ => message,
    }
}

const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// The fields that are not already in the message.
fn shown_fields(entry: &Entry) -> impl Iterator<Item = (&String, &Value)> {
    let is_prose = |name: &str| ["error", "said"].contains(&name) && entry.source == Source::Proxy;
    let fields = entry.fields.iter().filter(|_| !matches!(entry.source, Source::Request | Source::Message));
    fields.filter(move |(name, _)| !is_prose(name))
}

/// A value of a field: a single word as it is, a text in quotes.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let text = secrets::hidden(text);
            let is_word = !text.is_empty() && !text.contains(|letter: char| letter.is_whitespace() || letter == '"');
            let text = if is_word { text.into_owned() } else { format!("{text:?}") };
            one_line(&text).into_owned()
        }
        other => one_line(&secrets::hidden(&other.to_string())).into_owned(),
    }
}

fn json_line(entry: &Entry, time: Timestamp) -> String {
    let source = match entry.source {
        Source::Script if entry.level == EntryLevel::Audit => "audit",
        Source::Script => "script",
        Source::Stderr => "stderr",
        Source::Proxy | Source::Status | Source::Request | Source::Message => "proxy",
    };
    let mut line = Map::new();
    line.insert("time".to_owned(), full_time(time).into());
    line.insert("level".to_owned(), entry.level.word().to_lowercase().into());
    line.insert("source".to_owned(), source.into());
    if let Some(server) = &entry.server {
        line.insert("server".to_owned(), server.as_str().into());
    }
    line.insert("message".to_owned(), message(entry).into());
    let mut fields = Value::Object(entry.fields.clone());
    hide(&mut fields);
    match (fields, entry.source) {
        // A script chooses the names of its fields.
        (Value::Object(fields), Source::Script) if !fields.is_empty() => {
            line.insert("fields".to_owned(), fields.into());
        }
        (Value::Object(fields), _) => line.extend(fields),
        _ => {}
    }
    json!(line).to_string()
}

/// Hides secrets in the texts of a value.
fn hide(value: &mut Value) {
    match value {
        Value::String(text) => *text = secrets::hidden(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(members) => members.values_mut().for_each(hide),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "2026-11-16T06:22:35.765Z";

    fn entry(level: Level, source: Source, server: Option<&str>, message: &str, fields: Value) -> Entry {
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        Entry {
            level: EntryLevel::Of(level),
            source,
            server: server.map(str::to_owned),
            message: message.to_owned(),
            fields,
        }
    }

    #[test]
    fn a_line_says_when_how_serious_who_and_what() {
        let lost = entry(Level::WARN, Source::Proxy, Some("files"), "connection lost", json!({"said": "no disk"}));
        assert_eq!(text_line(&lost, TIME, false), format!("{TIME} WARN  files: connection lost; no disk"));
        let failed = entry(Level::ERROR, Source::Proxy, None, "cannot accept", json!({"error": "no room", "tries": 3}));
        assert_eq!(text_line(&failed, "06:22:35", false), "06:22:35 ERROR cannot accept: no room tries=3");
        let stderr = entry(Level::DEBUG, Source::Stderr, Some("git"), "npm warn", json!({}));
        assert_eq!(text_line(&stderr, "06:22:35", false), "06:22:35 DEBUG git | npm warn");
        let script =
            entry(Level::INFO, Source::Script, None, "used", json!({"name": "a b", "error": "x", "deep": {"a": 1}}));
        assert_eq!(text_line(&script, "1", false), r#"1 INFO  script: used name="a b" error=x deep={"a":1}"#);
        let coloured = text_line(&lost, TIME, true);
        assert!(coloured.contains("\x1b[33mWARN ") && coloured.contains("\x1b[1mfiles\x1b[0m:"), "{coloured:?}");
    }

    #[test]
    fn a_long_message_is_cut_after_its_secrets_are_hidden() {
        let text = format!(r#"sent {{"a":"{}","password":"hunter2hunter2"}}"#, "x".repeat(MAX_MESSAGE - 30));
        let long = entry(Level::TRACE, Source::Message, Some("one"), &text, json!({"bytes": text.len()}));
        for line in [text_line(&long, TIME, false), json_line(&long, Timestamp::UNIX_EPOCH)] {
            assert!(!line.contains("hunt") && line.contains("•••"), "{line}");
        }
        let longer = format!("{text}{}", "y".repeat(9));
        let longer = entry(Level::TRACE, Source::Message, None, &longer, json!({"bytes": 9000}));
        assert!(text_line(&longer, TIME, false).ends_with("... (9000 bytes)"));
    }

    #[test]
    fn no_text_in_an_entry_passes_for_another_entry() {
        let forged = "x\n2026-01-01T00:00:00.000Z ERROR forged\r\u{1b}[2J\u{202e}";
        let fields = json!({"error": forged, "said": forged, "tool": forged, "line": [forged]});
        let hostile = entry(Level::WARN, Source::Proxy, Some(forged), forged, fields);
        let text = text_line(&hostile, TIME, false);
        assert_eq!(text.lines().filter(|line| !line.starts_with("    ")).count(), 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text:?}");
        let json = json_line(&hostile, Timestamp::UNIX_EPOCH);
        assert_eq!(json.lines().count(), 1, "{json}");
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&read["time"], &read["level"]), (&json!("1970-01-01T00:00:00.000Z"), &json!("warn")));
        assert_eq!((&read["message"], &read["tool"]), (&json!(forged), &json!(forged)));
    }
}
