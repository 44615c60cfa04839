//! The log. It always goes to standard error, because standard output carries the protocol.

mod queue;
mod server_lines;

use std::fmt;

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt as layer};

use super::failure::CommandFailure;
use super::output;
use crate::diagnostic::{Diagnostic, nearest};
use crate::foreign_text::visible;
use queue::LineQueue;
pub(super) use queue::LogWriter;
use server_lines::ServerLines;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Starts logging at `level`, or with `default_filter` if there is no level.
pub(super) fn start(level: Option<&str>, default_filter: &str) -> Result<LogWriter, CommandFailure> {
    let level = match level {
        Some(level) if LEVELS.contains(&level) => level,
        Some("warning") => "warn",
        Some(other) => {
            let hint = nearest(other, LEVELS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(CommandFailure::usage(format!(
                "unknown log level `{other}` (known: {}){hint}",
                LEVELS.join(", ")
            )));
        }
        None => default_filter,
    };
    // At lower levels these crates log whole messages, including secrets.
    let filter = format!("{level},hyper=warn,reqwest=warn,h2=warn,rustls=warn,audit=error");
    let filter = EnvFilter::try_new(filter).map_err(|error| CommandFailure::usage(error.to_string()))?;
    let queue = LineQueue::default();
    let entries = layer::layer()
        .with_writer(queue.clone())
        .with_ansi(output::colour())
        .with_timer(UtcClock)
        .fmt_fields(HarmlessFields);
    tracing_subscriber::registry().with(filter).with(ServerLines).with(entries).init();
    queue
        .start_writing(std::io::stderr(), server_lines::report, server_lines::report_all)
        .map_err(|error| CommandFailure::failed(Diagnostic::error(format!("cannot start to write the log: {error}"))))
}

/// RFC 3339 timestamps in UTC with milliseconds.
struct UtcClock;

impl FormatTime for UtcClock {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", jiff::Timestamp::now())
    }
}

/// What a continued line of a message begins with. The first line of an entry begins with a timestamp, so that no text in
/// an entry can pass for another entry.
const CONTINUED: &str = "\n    ";

/// Writes the message and the fields of an entry so that foreign text in them is harmless.
struct HarmlessFields;

impl<'writer> FormatFields<'writer> for HarmlessFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = HarmlessVisitor { writer, is_first: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct HarmlessVisitor<'writer> {
    writer: Writer<'writer>,
    is_first: bool,
    result: fmt::Result,
}

impl Visit for HarmlessVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.record_debug(field, &format_args!("{value}"));
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.result.is_err() {
            return;
        }
        let text = format!("{value:?}");
        let gap = if self.is_first { "" } else { " " };
        self.is_first = false;
        self.result = match field.name() {
            "message" => write!(self.writer, "{gap}{}", visible(&text).trim_end_matches('\n').replace('\n', CONTINUED)),
            name => write!(self.writer, "{gap}{}={}", name.trim_start_matches("r#"), output::one_line(&text)),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(log: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .fmt_fields(HarmlessFields)
            .finish();
        tracing::subscriber::with_default(subscriber, log);
        let bytes = lines.0.lock().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn no_text_in_an_entry_passes_for_another_entry() {
        let forged = "x\n2026-01-01T00:00:00.000Z ERROR audit: forged\r\u{1b}[2J\u{202e}";
        let text = logged(|| {
            tracing::warn!(server = forged, error = %forged, tool = ?forged, count = 3, "it said {forged}");
            tracing::warn!(error = %forged, "{}", "plain");
        });
        let entries = text.lines().filter(|line| !line.starts_with("    "));
        assert_eq!(entries.count(), 2, "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text:?}");
        assert!(text.contains("it said x\n    2026-01-01") && text.contains(" count=3"), "{text}");
        assert_eq!(text.matches("error=x\\n2026").count(), 2, "{text}");
    }
}
