//! The progress of a call, on one line of the terminal of whoever waits for it.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::cli::table;
use crate::json::RawRef;

/// The longest message that is shown; more would not stay on one line.
const LONGEST: usize = 60;

/// The line, while there is one.
#[derive(Debug, Default)]
pub(super) struct Line {
    shown: AtomicBool,
}

impl Line {
    pub(super) fn show(&self, params: &RawRef) {
        let Some(line) = serde_json::from_str(params.get()).ok().and_then(|params| told(&params)) else { return };
        self.shown.store(true, Ordering::Relaxed);
        let mut terminal = std::io::stderr().lock();
        let _ = write!(terminal, "\r\x1b[2K{line}");
        let _ = terminal.flush();
    }

    /// Takes it away, before anything else is printed.
    pub(super) fn clear(&self) {
        if self.shown.swap(false, Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// `3/10 reading`, `3 reading`: what others say, fit for a terminal.
fn told(params: &Value) -> Option<String> {
    let done = params["progress"].as_f64()?;
    let part = match params["total"].as_f64() {
        Some(total) => format!("{done}/{total}"),
        None => done.to_string(),
    };
    let message = table::cut(table::first_line(params["message"].as_str().unwrap_or_default()), LONGEST);
    let message: String = message.chars().filter(|letter| !letter.is_control()).collect();
    Some(format!("{part} {message}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_told_in_few_words_without_anything_that_moves_the_cursor() {
        assert_eq!(told(&json!({"progress": 3, "total": 10, "message": "reading"})).as_deref(), Some("3/10 reading"));
        assert_eq!(told(&json!({"progress": 0.5})).as_deref(), Some("0.5"));
        let hostile = json!({"progress": 1, "message": format!("\x1b[2J{}\nsecond line", "x".repeat(100))});
        let line = told(&hostile).expect("it has a number");
        assert!(line.chars().count() <= LONGEST + 2 && !line.contains('\x1b') && !line.contains('\n'), "{line}");
        assert_eq!(told(&json!({"message": "no number"})), None);
    }
}
