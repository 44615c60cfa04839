//! Adds hints to errors: for wrong arguments to built-ins, from the reference; for tools that a script calls as
//! functions, from the servers' lists.

use crate::reference::{self, BuiltinEntry};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_code_mode::typings::identifiers;
use proxy_model::Snapshot;

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

/// Explains an undefined name that is a tool as code mode names it. Such a script is meant for `proxy exec`.
pub(super) fn explain_tool(problem: &mut Diagnostic, snapshot: &Snapshot) {
    let Some(name) = problem.message.strip_prefix("undefined name `").and_then(|rest| rest.strip_suffix('`')) else {
        return;
    };
    let tools =
        snapshot.backends.iter().flat_map(|backend| backend.lists.tools.iter().map(move |tool| (backend, tool)));
    let tools: Vec<_> = tools.collect();
    let functions = identifiers(tools.iter().map(|(_, tool)| tool.key()));
    let known = functions.iter().zip(&tools).filter_map(|(function, tool)| Some((function.as_deref()?, tool)));
    let known: Vec<_> = known.collect();
    let exact = known.iter().find(|(function, _)| *function == name);
    // A name of the file or a built-in that is near is more likely.
    let near = || {
        let near = nearest(name, known.iter().map(|(function, _)| *function))?;
        known.iter().find(|(function, _)| *function == near).filter(|_| problem.hint.is_none())
    };
    if let Some((function, (server, tool))) = exact.or_else(near) {
        let meant = if *function == name { String::new() } else { format!("did you mean `{function}`? ") };
        problem.hint = Some(format!(
            "{meant}`{function}()` is the tool `{}` of `{}` in code mode: run the script with `proxy exec`, or call the \
             handler from `backends()[\"{}\"].tools()`",
            tool.key(),
            server.name,
            server.name
        ));
    }
}
