//! How each column adapts to a narrow terminal. Columns are identified by their headings, so that a column behaves the same
//! in every table.

/// Columns that are omitted on a narrow terminal, in this order. All of them are in `--json`.
const OPTIONAL: [&str; 22] = [
    "CLIENT ID",
    "RENEWED",
    "SCOPES",
    "TYPE",
    "ISSUER",
    "START",
    "RESTARTS",
    "FAILED/MIN",
    "CALLS/MIN",
    "VERSION",
    "PROTOCOL",
    "KIND",
    "MATCHED",
    "PROMPTS",
    "RESOURCES",
    "SCORE",
    "CONNECTED",
    "PROCESS",
    "UP",
    "FAILED",
    "CALLS",
    "TOOLS",
];

/// Columns with prose. They get the remaining width.
const CUT: [&str; 1] = ["DESCRIPTION"];
/// Columns with text that must not be cut.
const WRAPPED: [&str; 4] = ["ERROR", "RESULT", "CONFIG", "TO DO"];
/// Columns whose words have colours.
const STATES: [&str; 2] = ["STATUS", "STATE"];

/// How a column adapts to the width of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It stays as wide as its widest cell, as long as another column can be narrowed.
    Keep,
    /// It can be omitted, the lowest rank first.
    Optional(usize),
    /// It is cut at the edge of the screen, with an ellipsis.
    Cut,
    /// It continues on the next line.
    Wrap,
}

impl Fit {
    pub(super) fn of(heading: &str) -> Self {
        if CUT.contains(&heading) {
            Fit::Cut
        } else if WRAPPED.contains(&heading) {
            Fit::Wrap
        } else {
            OPTIONAL.iter().position(|optional| *optional == heading).map_or(Fit::Keep, Fit::Optional)
        }
    }
}

/// The colour of a word in a column of states.
pub(super) fn state_colour(heading: &str, cell: &str) -> Option<&'static str> {
    if !STATES.contains(&heading) {
        return None;
    }
    match cell.split([' ', ',', ':', '(']).next().unwrap_or_default() {
        "ready" | "ok" | "up" => Some("\x1b[32m"),
        "failed" | "error" | "down" | "breaker" => Some("\x1b[31m"),
        "starting" | "cached" | "resting" => Some("\x1b[33m"),
        "login" => Some("\x1b[36m"),
        "disabled" | "off" => Some("\x1b[2m"),
        _ => None,
    }
}
