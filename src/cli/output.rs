//! Printing. A reader that went away (`proxy list-tools | head`) is no error.

use std::io::{IsTerminal, Write};

use crate::diagnostic::Diagnostic;

pub(super) fn out(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

pub(super) fn err(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Colour where a person looks, and has not asked for none.
pub(super) fn colour() -> bool {
    std::io::stderr().is_terminal() && is_wanted()
}

/// The same for what goes to standard output.
pub(super) fn colour_of_answers() -> bool {
    std::io::stdout().is_terminal() && is_wanted()
}

/// How many characters fit on a line of standard output, if a person looks at it.
pub(super) fn width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0))
}

fn is_wanted() -> bool {
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
