//! Takes the entries that the code logs, chooses those that are written, and hands them to the writer.

use std::time::Instant;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::entry::{self, Entry, EntryLevel, Source};
use super::queue::LineQueue;
use super::render::LineStyle;
use super::repeated::Repeated;
use super::{SERVER_STATE, levels, secrets, server_lines, tail};

pub(super) struct LogLayer {
    queue: LineQueue,
    style: LineStyle,
    repeated: Repeated,
}

impl LogLayer {
    pub(super) fn new(queue: LineQueue, style: LineStyle) -> Self {
        LogLayer { queue, style, repeated: Repeated::default() }
    }

    /// Whether an entry about a server says nothing new.
    fn is_repeated(&self, event: &Event<'_>, entry: &Entry, server: &str) -> bool {
        match entry.level {
            EntryLevel::Of(Level::ERROR | Level::WARN) => {
                self.repeated.is_known(event.metadata().callsite(), server, &entry.message)
            }
            _ => false,
        }
    }

    /// Whether there is still room for an entry about a server. Whoever asks for the levels below `info` wants all of it;
    /// whoever asks for what one server writes does not want it to fill the disk.
    fn has_room(entry: &Entry, server: &str) -> bool {
        let is_limited = match entry.source {
            Source::Stderr => !levels::wants_all_of_servers(),
            _ => matches!(entry.level, EntryLevel::Of(Level::ERROR | Level::WARN | Level::INFO)),
        };
        !is_limited || server_lines::admit(server, Instant::now())
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
        if entry.source == Source::Stderr
            && let Some(server) = &entry.server
        {
            tail::push(server, &secrets::hidden(&entry.message));
        }
        if let Some(server) = entry.server.as_deref().filter(|_| event.metadata().target() == SERVER_STATE) {
            self.repeated.forget(server);
        }
        if !levels::admits(event.metadata(), entry.server.as_deref()) {
            return;
        }
        if let Some(server) = entry.server.as_deref().filter(|_| !entry::is_about_log(event)) {
            let is_ours = entry.source != Source::Stderr;
            if (is_ours && self.is_repeated(event, &entry, server)) || !Self::has_room(&entry, server) {
                return;
            }
        }
        self.queue.add(entry.level == EntryLevel::Audit, self.style.line(&entry).into_bytes());
    }
}
