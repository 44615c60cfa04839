//! Static checks of scripts. Every lint has a name. A comment `# starlark-lint-disable NAME` on the line, or alone on
//! the line above, disables it there.

mod load_graph;
mod misspelt_hook;
mod role;
mod scope;
mod shadowed_builtins;
mod starlark_lints;
mod types;
mod unknown_annotations;
mod when_unavailable;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use starlark::syntax::AstModule;
use starlark::typing::Interface;

pub use role::{Role, is_empty, is_library, is_test};

use self::load_graph::LoadGraph;
use proxy_base::diagnostic::Diagnostic;
use proxy_script::{Failure, Source, on_big_stack, parse, possibly_lost_writes};

/// Checks a script and the files it loads, each file once.
pub fn with_loads(source: &Source, role: Role, root: Option<&Path>) -> Vec<Diagnostic> {
    with_known(source, role, root, &mut HashSet::new())
}

/// Checks a script and the files it loads, except the files in `seen`, and adds them to `seen`.
pub fn with_known(source: &Source, role: Role, root: Option<&Path>, seen: &mut HashSet<String>) -> Vec<Diagnostic> {
    let check = || {
        let mut graph = LoadGraph::new(root, role.paths());
        graph.add(source);
        let mut interfaces: HashMap<String, Interface> = HashMap::new();
        let mut found = Vec::new();
        for file in &graph.files {
            let (problems, interface) = check_file(&file.source, &file.parsed, role, &file.interfaces(&interfaces));
            interfaces.insert(file.key.clone(), interface);
            // Users cannot change the embedded libraries.
            if !file.source.name.starts_with('@') && seen.insert(file.key.clone()) {
                found.extend(file.load_errors.iter().cloned().chain(problems));
            }
        }
        found
    };
    on_big_stack(check).unwrap_or_else(as_problem)
}

/// A script and the files that it loads, directly or not: the script first, and a file before those that only it loads.
pub fn loaded_files(source: &Source, role: Role, root: Option<&Path>) -> Vec<Source> {
    let files = on_big_stack(|| {
        let mut graph = LoadGraph::new(root, role.paths());
        graph.add(source);
        graph.files.into_iter().rev().map(|file| file.source).collect()
    });
    files.unwrap_or_else(|_| vec![source.clone()])
}

/// Checks one file without the files it loads.
pub fn alone(source: &Source, role: Role) -> Vec<Diagnostic> {
    on_big_stack(|| check_file(source, &parse(source), role, &HashMap::new()).0).unwrap_or_else(as_problem)
}

fn as_problem(failure: Failure) -> Vec<Diagnostic> {
    vec![*failure.diagnostic]
}

/// Returns the problems in the order of the text, and the types of the names that the file exports.
fn check_file(
    source: &Source,
    parsed: &Result<AstModule, Diagnostic>,
    role: Role,
    loads: &HashMap<String, Interface>,
) -> (Vec<Diagnostic>, Interface) {
    let module = match parsed {
        Ok(module) => module,
        Err(problem) => return (vec![problem.clone()], Interface::empty()),
    };
    let mut problems = starlark_lints::lint(module, role);
    problems.extend(shadowed_builtins::lint(module, source, role));
    problems.extend(possibly_lost_writes(module, source));
    problems.extend(when_unavailable::lint(module, source, role));
    problems.extend(unknown_annotations::lint(module, source, role));
    problems.extend(misspelt_hook::lint(module, source, role));
    // The type checker needs all names to be defined.
    let mut interface = Interface::empty();
    if !problems.iter().any(Diagnostic::is_error) {
        let (warnings, exported) = types::check(module, role, loads);
        problems.extend(warnings.into_iter().filter(|warning| !when_unavailable::is_covered(warning)));
        interface = exported;
    }
    problems.sort_by_key(|problem| problem.place.as_ref().map_or(0, |place| place.span.start));
    (problems, interface)
}

#[cfg(test)]
mod tests;
