//! The tracing layer: selects the entries to write and passes them to the writer.

use std::time::Instant;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::entry::{Entry, EntryLevel, Source};
use super::queue::LineQueue;
use super::render::LineStyle;
use super::repeated::Repeated;
use super::{LOG, SERVER, SERVER_STATE, levels, secrets, server_lines, tail};

pub(super) struct LogLayer {
    queue: LineQueue,
    style: LineStyle,
    repeated: Repeated,
}

impl LogLayer {
    pub(super) fn new(queue: LineQueue, style: LineStyle) -> Self {
        LogLayer { queue, style, repeated: Repeated::default() }
    }

    /// Whether an entry about a server is new, and within the rate limit of the server. `debug` and `trace` entries are not
    /// limited; server output is limited unless the log level asks for all of it, so that one server cannot fill the disk.
    fn is_news(&self, event: &Event<'_>, entry: &Entry, server: &str) -> bool {
        let (is_limited, is_repeated) = match (entry.source, entry.level) {
            (Source::Stderr, _) => (!levels::wants_all_of_servers(), false),
            (_, EntryLevel::Of(Level::ERROR | Level::WARN)) => {
                (true, self.repeated.is_known(event.metadata().callsite(), server, &entry.message))
            }
            (_, level) => (level == EntryLevel::Of(Level::INFO), false),
        };
        !is_repeated && (!is_limited || server_lines::admit(server, Instant::now()))
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn register_callsite(&self, entry: &'static Metadata<'static>) -> Interest {
        if levels::is_possible(entry) { Interest::sometimes() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(levels::maximum())
    }

    fn enabled(&self, entry: &Metadata<'_>, _: Context<'_, S>) -> bool {
        levels::is_possible(entry)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let entry = Entry::of(event);
        let target = event.metadata().target();
        let server = entry.server.as_deref();
        match (target, server) {
            (SERVER, Some(server)) => tail::push(server, &secrets::hidden(&entry.message)),
            (SERVER_STATE, Some(server)) => self.repeated.forget(server),
            _ => {}
        }
        // Entries about the log itself always count as new.
        let is_news = |server: &str| target == LOG || self.is_news(event, &entry, server);
        if levels::admits(event.metadata(), server) && server.is_none_or(is_news) {
            self.queue.add(entry.level == EntryLevel::Audit, self.style.line(&entry).into_bytes());
        }
    }
}
