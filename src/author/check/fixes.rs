//! What to do about errors of calls: only here it is known what the built-ins take.

use crate::author::reference;
use crate::author::reference::Entry;
use crate::diagnostic::{Diagnostic, nearest};

/// The same with a hint, where it has none and there is one.
pub(super) fn cured(mut problem: Diagnostic) -> Diagnostic {
    if problem.hint.is_none() {
        problem.hint = called_wrongly(&problem.message);
    }
    problem
}

/// The engine says what was missing or too much, and of which function.
fn called_wrongly(message: &str) -> Option<String> {
    let (wrong, function) = message.split_once(" for call to ")?;
    let found = reference::find(function.trim_matches('`'));
    let [entry] = found[..] else { return None };
    let given = wrong.strip_prefix("Found `").and_then(|rest| rest.split('`').next());
    let near = given.and_then(|given| nearest(given, parameters(entry)));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Some(format!("{near}it is `{}`", entry.signature))
}

/// `a` and `b` of `f(a, b = 1, *, c)`.
fn parameters(entry: &Entry) -> impl Iterator<Item = &str> {
    let inside = entry.signature.split_once('(').map_or("", |(_, rest)| rest);
    inside.split([',', ')']).filter_map(|part| part.trim().trim_start_matches('*').split([' ', '=']).next())
}
