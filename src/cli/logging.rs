//! The log: to standard error, always; standard output is the protocol's.

use std::fmt;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use super::failure::Failure;
use super::output;
use crate::diagnostic::nearest;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Writes the log from a thread of its own: whoever started us may not read standard error, and a full pipe must not
/// stop the protocol. Lines are dropped, and counted, rather than waited for. What is queued is written when this is
/// dropped.
pub(super) type LogWriter = tracing_appender::non_blocking::WorkerGuard;

/// `usual`: the level where none is asked for.
pub(super) fn start(level: Option<&str>, usual: &str) -> Result<LogWriter, Failure> {
    let level = match level {
        Some(level) if LEVELS.contains(&level) => level,
        Some("warning") => "warn",
        Some(other) => {
            let hint = nearest(other, LEVELS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(Failure::usage(format!("`{other}` is not a log level ({}){hint}", LEVELS.join(", "))));
        }
        None => usual,
    };
    // Other crates print whole messages at these levels, with whatever secrets are in them.
    let filter = format!("{level},hyper=warn,reqwest=warn,h2=warn,rustls=warn,audit=error");
    let filter = EnvFilter::try_new(filter).map_err(|error| Failure::usage(error.to_string()))?;
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(output::colour())
        .with_timer(UtcClock)
        .init();
    Ok(guard)
}

/// The time of day as RFC 3339 in UTC, to the millisecond: what other logs are compared with.
struct UtcClock;

impl FormatTime for UtcClock {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", jiff::Timestamp::now())
    }
}
