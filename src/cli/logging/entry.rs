//! One entry of the log, in parts.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use super::{AUDIT, MESSAGE, REQUEST, SCRIPT, SERVER, STATUS};

/// The level of an entry. Audit entries have their own, because they are not errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryLevel {
    Audit,
    Of(Level),
}

impl EntryLevel {
    pub(super) fn word(self) -> &'static str {
        match self {
            EntryLevel::Audit => "AUDIT",
            EntryLevel::Of(level) => level.as_str(),
        }
    }
}

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Proxy,
    /// The command, as output for the person who started it.
    Status,
    /// A request. Its message already contains its fields.
    Request,
    /// A message on the wire, of any length.
    Message,
    Script,
    /// A server, on its standard error.
    Stderr,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) level: EntryLevel,
    pub(super) source: Source,
    pub(super) server: Option<String>,
    pub(super) message: String,
    pub(super) fields: Map<String, Value>,
}

impl Entry {
    pub(super) fn of(event: &Event<'_>) -> Self {
        let (target, level) = (event.metadata().target(), *event.metadata().level());
        let (level, source) = match target {
            AUDIT => (EntryLevel::Audit, Source::Script),
            STATUS => (EntryLevel::Of(Level::INFO), Source::Status),
            REQUEST => (EntryLevel::Of(level), Source::Request),
            MESSAGE => (EntryLevel::Of(level), Source::Message),
            SCRIPT => (EntryLevel::Of(level), Source::Script),
            SERVER => (EntryLevel::Of(level), Source::Stderr),
            _ => (EntryLevel::Of(level), Source::Proxy),
        };
        let mut entry = Entry { level, source, server: None, message: String::new(), fields: Map::new() };
        event.record(&mut entry);
        entry
    }

    /// An entry about the log itself.
    pub(super) fn about_log(level: Level, message: String) -> Self {
        Entry { level: EntryLevel::Of(level), source: Source::Proxy, server: None, message, fields: Map::new() }
    }

    fn set(&mut self, field: &Field, value: Value) {
        match (field.name().trim_start_matches("r#"), value) {
            ("message", Value::String(text)) => self.message = text,
            ("server", Value::String(text)) => self.server = Some(text),
            // The keyword arguments that a script passed to `log`.
            ("fields", Value::String(text)) if self.source == Source::Script => {
                if let Ok(Value::Object(given)) = serde_json::from_str(&text) {
                    self.fields.extend(given);
                }
            }
            (name, value) => drop(self.fields.insert(name.to_owned(), value)),
        }
    }
}

impl Visit for Entry {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}").into());
    }
}
