//! The log. It always goes to standard error, because standard output carries the protocol.

use std::fmt;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use super::failure::CommandFailure;
use super::output;
use crate::diagnostic::nearest;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Writes the log on a separate thread. The parent process may not read standard error, and a full pipe must not block
/// the protocol: lines are dropped and counted instead. Dropping the writer flushes queued lines.
pub(super) type LogWriter = tracing_appender::non_blocking::WorkerGuard;

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
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(output::colour())
        .with_timer(UtcClock)
        .init();
    Ok(guard)
}

/// RFC 3339 timestamps in UTC with milliseconds.
struct UtcClock;

impl FormatTime for UtcClock {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", jiff::Timestamp::now())
    }
}
