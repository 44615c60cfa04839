//! The log: on standard error, because standard output carries the protocol, or in a file.

mod args;
mod entry;
mod layer;
mod levels;
mod queue;
mod render;
mod repeated;
mod secrets;
mod server_lines;
mod tail;

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::OnceLock;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::failure::CommandFailure;
use super::output;
pub(super) use args::{LogArgs, LogFormat};
use layer::LogLayer;
pub(super) use levels::DefaultLevels;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::Config;
use queue::LineQueue;
pub(super) use queue::LogWriter;
use render::LineStyle;
pub(super) use render::{full_time, short_time};
pub(super) use tail::lines_of;

/// The target of status lines, which are written at every level, such as the listening address.
const STATUS: &str = "status";
/// The target of audit lines.
const AUDIT: &str = "audit";
/// The target of lines that servers write to stderr.
const SERVER: &str = "server";
/// The target of lines about servers that start or are up. After such a line, a repeated warning counts as new.
const SERVER_STATE: &str = "server_state";
/// The target of lines about the log itself.
const LOG: &str = "log";
/// The target of lines about requests. Their text already contains their fields.
const REQUEST: &str = "request";
/// The target of messages between clients, proxy and servers.
const MESSAGE: &str = "message";
/// The target of lines from scripts.
const SCRIPT: &str = "script";

/// Where the log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To standard error, where people read it.
    Text,
    /// To standard error, where a program reads it.
    Json,
    /// To a file. Status lines are also printed.
    File,
}

static PLACE: OnceLock<Place> = OnceLock::new();

/// Starts logging. Without a level on the command line, the command's own levels apply.
pub(super) fn start(args: &LogArgs, defaults: DefaultLevels) -> Result<LogWriter, CommandFailure> {
    levels::set(args.levels(defaults)?);
    let file = args.log_file.as_deref().map(open).transpose()?;
    let _ = PLACE.set(match (&file, args.log_format) {
        (Some(_), _) => Place::File,
        (None, LogFormat::Json) => Place::Json,
        (None, LogFormat::Text) => Place::Text,
    });
    let on_terminal = file.is_none() && std::io::stderr().is_terminal();
    let style = match args.log_format {
        LogFormat::Json => LineStyle::Json,
        LogFormat::Text => LineStyle::Text {
            colour: file.is_none() && output::colour(),
            short_times: on_terminal,
            is_file: file.is_some(),
        },
    };
    let queue = LineQueue::new(style);
    tracing_subscriber::registry().with(LogLayer::new(queue.clone(), style)).init();
    let started = match file {
        Some(file) => queue.start_writing(file, server_lines::report),
        None => queue.start_writing(std::io::stderr(), server_lines::report),
    };
    started.map_err(|error| CommandFailure::failed(Diagnostic::error(format!("cannot start the log writer: {error}"))))
}

/// Opens a log file for appending. Other users cannot read a new file, because the log says who did what.
fn open(path: &Path) -> Result<File, CommandFailure> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    opened.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "create its folder first",
            io::ErrorKind::IsADirectory => "name a file, not a folder",
            _ => "choose a writable file, or omit `--log-file`",
        };
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        Diagnostic::error(format!("cannot write the log to `{}`: {reason}", path.display())).hint(hint).into()
    })
}

/// Prints a line for the person who started the command. It does not depend on `--log`, but is written in order with the
/// log, and also to a log file.
pub(super) fn status(text: &str) {
    match (place(), output::is_quiet()) {
        (Place::Text | Place::Json, true) => return,
        (Place::File, false) => output::err(text),
        _ => {}
    }
    tracing::error!(target: STATUS, "{text}");
}

fn place() -> Place {
    PLACE.get().copied().unwrap_or(Place::Text)
}

/// Reports problems in order with the log, like [`status`]. In JSON and in a file they are warnings.
pub(super) fn problems(problems: &[Diagnostic]) {
    match place() {
        Place::Text => {
            let rendered = problems.iter().map(output::rendered).collect::<Vec<_>>();
            if !rendered.is_empty() {
                status(&rendered.join("\n\n"));
            }
        }
        Place::Json | Place::File => {
            problems.iter().for_each(|problem| tracing::warn!("{problem}"));
            if place() == Place::File {
                output::diagnostics(problems);
            }
        }
    }
}

/// The secrets of a config, as the log hides them.
pub(super) fn secret_values(config: &Config) -> Vec<String> {
    secrets::values(config)
}

/// Hides the secrets of this config in the log from now on, and still those of the config in force.
pub(super) fn hide_secrets(config: &Config) {
    secrets::set(config);
}

/// Hides the secrets of this config, which is in force from now on. Those of configs before it are no longer in use.
pub(super) fn hide_secrets_in_force(config: &Config) {
    secrets::set_in_force(config);
}

/// A text without the secrets that the log hides.
pub(super) fn without_secrets(text: &str) -> String {
    secrets::hidden(text).into_owned()
}

/// Applies the levels of servers (`mcpServers.NAME.log`) from now on, and drops the lines of removed servers.
pub(super) fn apply_server_levels(config: &Config) {
    let own = config.servers.iter().filter_map(|(name, server)| Some((name.clone(), server.log?)));
    levels::set_servers(own.collect());
    tail::retain(|name| config.servers.contains_key(name));
}
