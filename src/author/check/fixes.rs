//! Adds hints to errors about wrong arguments of built-ins, from the reference.

use crate::author::reference::{self, BuiltinEntry};
use crate::diagnostic::{Diagnostic, nearest};

/// Adds a hint to a problem that has none, if the reference has one.
pub(super) fn with_hint(mut problem: Diagnostic) -> Diagnostic {
    if problem.hint.is_none() {
        problem.hint = argument_hint(&problem.message);
    }
    problem
}

/// Starlark's message names the argument and the function: ``Found `x` extra named parameter(s) for call to f``.
fn argument_hint(message: &str) -> Option<String> {
    let (problem, function) = message.split_once(" for call to ")?;
    let found = reference::find(function.trim_matches('`'));
    let [entry] = found[..] else { return None };
    let unknown = problem.strip_prefix("Found `").and_then(|rest| rest.split('`').next());
    let near = unknown.and_then(|unknown| nearest(unknown, parameters(entry)));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Some(format!("{near}the signature is `{}`", entry.signature))
}

/// The names of the parameters: `a`, `b` and `c` for `f(a, b = 1, *, c)`.
fn parameters(entry: &BuiltinEntry) -> impl Iterator<Item = &str> {
    let inside = entry.signature.split_once('(').map_or("", |(_, rest)| rest);
    inside.split([',', ')']).filter_map(|part| part.trim().trim_start_matches('*').split([' ', '=']).next())
}
