//! Printing. A closed pipe (`proxy list-tools | head`) is not an error. Text from servers, clients and imported files
//! is untrusted: the functions here that print it escape terminal sequences and invisible characters.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;

use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::{json_visible, visible};

/// The output settings from the command line.
struct Settings {
    color: ColorChoice,
    quiet: bool,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Applies the arguments `--color` and `--quiet`.
pub(super) fn set_up(color: ColorChoice, quiet: bool) {
    let _ = SETTINGS.set(Settings { color, quiet });
}

/// Whether only results and errors are printed.
pub(super) fn is_quiet() -> bool {
    SETTINGS.get().is_some_and(|settings| settings.quiet)
}

/// The first error on writing to standard output.
static FAILURE: OnceLock<String> = OnceLock::new();

/// Prints text from the proxy itself, which may contain colours, or untrusted text that is already escaped.
pub(super) fn out(text: &str) {
    line(text);
}

/// Like [`out`], but returns false once the reader has closed the pipe.
pub(super) fn line(text: &str) -> bool {
    written(writeln!(std::io::stdout().lock(), "{text}"))
}

/// Records a write error. A closed pipe is not a failure, because its reader has read enough; a full disk is.
fn written(outcome: std::io::Result<()>) -> bool {
    if let Err(error) = &outcome
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        let _ = FAILURE.set(error.to_string());
    }
    outcome.is_ok()
}

/// Flushes standard output, and returns an error if results of the command could not be written.
pub(super) fn finish() -> Option<Diagnostic> {
    written(std::io::stdout().lock().flush());
    let reason = FAILURE.get()?;
    Some(Diagnostic::error(format!("cannot write to standard output: {reason}")))
}

/// Whether the last output on standard error was a diagnostic.
static AFTER_DIAGNOSTIC: AtomicBool = AtomicBool::new(false);

/// Like [`out`], on standard error.
pub(super) fn err(text: &str) {
    AFTER_DIAGNOSTIC.store(false, Ordering::Relaxed);
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints, on a terminal only, where an answer comes from.
pub(super) fn status_line(text: &str) {
    if std::io::stderr().is_terminal() && !is_quiet() {
        err(&one_line(text));
    }
}

/// Prints the result of a command: unchanged in a pipe, escaped on a terminal.
pub(super) fn data(text: &str) {
    if is_terminal() { out(&visible(text)) } else { out(text) }
}

/// Prints a text result. On a terminal, JSON is formatted.
pub(super) fn text(text: &str) {
    if is_terminal()
        && text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(text)
    {
        return json(&value);
    }
    data(text);
}

/// Prints bytes as they are.
pub(super) fn bytes(bytes: &[u8]) {
    written(std::io::stdout().lock().write_all(bytes));
}

/// Whether standard output is a terminal.
pub(super) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Untrusted text, escaped and on one line, for a table cell or part of a line.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    if text.contains(['\n', '\t']) { text.replace('\n', "\\n").replace('\t', " ").into() } else { text }
}

/// Whether to use colour on standard error.
pub(super) fn colour() -> bool {
    wants_colour(std::io::stderr().is_terminal())
}

/// Whether to use colour on standard output.
pub(super) fn stdout_colour() -> bool {
    wants_colour(is_terminal())
}

/// The width of standard output in characters, if it is a terminal.
pub(super) fn width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0))
}

/// The width of standard error in characters, if it is a terminal.
pub(super) fn stderr_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stderr())?;
    Some(usize::from(width.0))
}

/// Whether to use colour: as `--color` says, otherwise on a terminal unless `NO_COLOR` is set.
fn wants_colour(is_terminal: bool) -> bool {
    match SETTINGS.get().map(|settings| settings.color) {
        Some(ColorChoice::Always) => true,
        Some(ColorChoice::Never) => false,
        _ => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// Prints diagnostics, with a blank line between two of them.
pub(super) fn diagnostics(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic.is_error() || !is_quiet()) {
        // Multi-line diagnostics would otherwise run into each other.
        let gap = if AFTER_DIAGNOSTIC.load(Ordering::Relaxed) { "\n" } else { "" };
        err(&format!("{gap}{}", rendered(diagnostic)));
        AFTER_DIAGNOSTIC.store(true, Ordering::Relaxed);
    }
}

/// A diagnostic as it is printed on standard error.
pub(super) fn rendered(diagnostic: &Diagnostic) -> String {
    from_here(harmless(diagnostic)).render_within(colour(), stderr_width())
}

/// The diagnostic with a relative path if its file is below the current folder.
fn from_here(mut diagnostic: Diagnostic) -> Diagnostic {
    if let (Some(place), Ok(folder)) = (&mut diagnostic.place, std::env::current_dir())
        && let Ok(below) = Path::new(&place.file).strip_prefix(folder).map(|below| below.display().to_string())
    {
        place.file = below;
    }
    diagnostic
}

/// The diagnostic with its texts escaped, because they may quote a server.
pub(super) fn harmless(diagnostic: &Diagnostic) -> Diagnostic {
    let text = |text: &String| visible(text).into_owned();
    Diagnostic {
        message: text(&diagnostic.message),
        notes: diagnostic.notes.iter().map(text).collect(),
        hint: diagnostic.hint.as_ref().map(text),
        trace: diagnostic.trace.iter().map(text).collect(),
        ..diagnostic.clone()
    }
}

/// Prints JSON. On a terminal, invisible characters are written as JSON escapes.
pub(super) fn json(value: &impl serde::Serialize) {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    if is_terminal() { out(&json_visible(&text)) } else { out(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_on_its_line() {
        assert_eq!(one_line("a\nb\r\tc\u{1b}[2J\u{202e}"), "a\\nb\\u{d} c\\u{1b}[2J\\u{202e}");
        assert_eq!(one_line("plain"), "plain");
    }

    #[test]
    fn a_diagnostic_shows_what_a_server_hid_in_its_words() {
        let diagnostic = Diagnostic::warning("server said \u{1b}[2J\u{202e}").note("\u{1b}]0;x\u{7}").hint("\r");
        let text = harmless(&diagnostic).render(false);
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}', '\r']), "{text:?}");
        assert!(text.contains("\\u{1b}[2J\\u{202e}") && text.contains("\\u{d}"), "{text}");
    }
}
