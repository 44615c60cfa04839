//! The progress of a call, on one line of the terminal.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::cli::{output, table};
use proxy_json::RawRef;

/// The maximum length of a message, so that it stays on one line.
const MAX_MESSAGE: usize = 60;

#[derive(Debug)]
pub(super) struct ProgressLine {
    /// Whether the line is visible.
    shown: AtomicBool,
}

impl ProgressLine {
    pub(super) const fn new() -> Self {
        ProgressLine { shown: AtomicBool::new(false) }
    }

    pub(super) fn show(&self, params: &RawRef) {
        let Some(line) = serde_json::from_str(params.get()).ok().and_then(|params| render(&params)) else { return };
        self.shown.store(true, Ordering::Relaxed);
        let mut terminal = std::io::stderr().lock();
        let line = table::cut(&line, output::stderr_width().map_or(MAX_MESSAGE, |width| width.saturating_sub(1)));
        let _ = write!(terminal, "\r\x1b[2K{line}");
        let _ = terminal.flush();
    }

    /// Removes the line, before other output is printed.
    pub(super) fn clear(&self) {
        if self.shown.swap(false, Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// Renders progress as `3/10 reading` or `3 reading`, with control characters made visible.
fn render(params: &Value) -> Option<String> {
    let done = params["progress"].as_f64()?;
    let part = match params["total"].as_f64() {
        Some(total) => format!("{done}/{total}"),
        None => done.to_string(),
    };
    let message = output::one_line(table::first_line(params["message"].as_str().unwrap_or_default()));
    let message = table::cut(&message, MAX_MESSAGE);
    Some(format!("{part} {message}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_short_and_control_characters_are_visible() {
        assert_eq!(render(&json!({"progress": 3, "total": 10, "message": "reading"})).as_deref(), Some("3/10 reading"));
        assert_eq!(render(&json!({"progress": 0.5})).as_deref(), Some("0.5"));
        let hostile = json!({"progress": 1, "message": format!("\x1b[2J{}\nsecond line", "x".repeat(100))});
        let line = render(&hostile).expect("it has a number");
        assert!(line.chars().count() <= MAX_MESSAGE + 2 && !line.contains('\x1b') && !line.contains('\n'), "{line}");
        assert_eq!(render(&json!({"message": "no number"})), None);
    }
}
