//! Errors of the engine as diagnostics, with position, call stack and hint.

use starlark::codemap::FileSpan;
use starlark::eval::Evaluator;
use starlark::{Error, ErrorKind};

use super::hints::{self, FROZEN};
use super::script_error::ScriptError;
use proxy_base::diagnostic::{Diagnostic, Location};

pub fn diagnose(error: &Error) -> Diagnostic {
    let message = message(error);
    let mut diagnostic = Diagnostic::error(message.as_str());
    if let Some(span) = error.span() {
        let place = place(span);
        let line = span.file.source_line_at_pos(span.span.begin()).to_owned();
        diagnostic.hint = hints::hint(&message, span.source_span(), &line);
        diagnostic.place = Some(place);
    }
    if let Some(raised) = inner::<ScriptError>(error) {
        diagnostic.hint = raised.hint.clone().or(diagnostic.hint);
        diagnostic.notes.clone_from(&raised.notes);
    }
    diagnostic.trace = trace(error);
    diagnostic
}

/// The error in one sentence, without its position.
pub fn message(error: &Error) -> String {
    let text = match error.kind() {
        ErrorKind::Fail(inner) => inner.to_string(),
        other => other.to_string(),
    };
    if text == "Immutable" { FROZEN.to_owned() } else { text }
}

pub fn place(span: &FileSpan) -> Location {
    let range = span.span.begin().get() as usize..span.span.end().get() as usize;
    Location::new(span.file.filename(), span.file.source(), range)
}

/// The line that a script is at.
pub fn current_place(evaluator: &Evaluator<'_, '_, '_>) -> Option<Location> {
    evaluator.call_stack_top_location().as_ref().map(place)
}

/// The error of type `T` that a built-in raised, if this is one.
pub(crate) fn inner<T: std::error::Error + Send + Sync + 'static>(error: &Error) -> Option<&T> {
    match error.kind() {
        ErrorKind::Native(inner) | ErrorKind::Other(inner) | ErrorKind::Fail(inner) | ErrorKind::Value(inner) => {
            inner.downcast_ref()
        }
        _ => None,
    }
}

/// The call stack, outermost first. Empty if it has a single frame, which adds nothing to the position.
fn trace(error: &Error) -> Vec<String> {
    let mut caller = "top level";
    let mut trace = Vec::new();
    for frame in &error.call_stack().frames {
        if let Some(location) = &frame.location {
            let line = location.resolve_span().begin.line + 1;
            trace.push(format!("{}:{line} in {caller}", location.filename()));
        }
        // Frames of the engine itself have no name.
        if frame.name != "None" {
            caller = &frame.name;
        }
    }
    // A built-in that raises an error has a frame too, at the position of the error.
    let innermost = error.call_stack().frames.last().and_then(|frame| frame.location.as_ref());
    if let Some(span) = error.span().filter(|span| Some(*span) != innermost) {
        let last = format!("{}:{} in {caller}", span.filename(), span.resolve_span().begin.line + 1);
        trace.push(last);
    }
    if trace.len() < 2 { Vec::new() } else { trace }
}
