//! Printing. A closed pipe (`proxy list-tools | head`) is not an error.

use std::io::{IsTerminal, Write};

use crate::diagnostic::Diagnostic;

pub(super) fn out(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

pub(super) fn err(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Whether to use colour on standard error: on a terminal, unless `NO_COLOR` is set.
pub(super) fn colour() -> bool {
    std::io::stderr().is_terminal() && colour_allowed()
}

/// Whether to use colour on standard output: on a terminal, unless `NO_COLOR` is set.
pub(super) fn stdout_colour() -> bool {
    std::io::stdout().is_terminal() && colour_allowed()
}

/// The width of standard output in characters, if it is a terminal.
pub(super) fn width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0))
}

fn colour_allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub(super) fn diagnostics(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        err(&diagnostic.render(colour()));
    }
}

pub(super) fn json(value: &impl serde::Serialize) {
    out(&serde_json::to_string_pretty(value).unwrap_or_default());
}
