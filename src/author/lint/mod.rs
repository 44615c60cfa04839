//! What looks wrong in a script before it runs. Every rule has a name; a comment `# starlark-lint-disable NAME` on the
//! line, or on one of its own above it, silences it there.

mod engine;
mod files;
mod role;
mod shadow;
mod types;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use starlark::syntax::AstModule;
use starlark::typing::Interface;

pub use files::Files;
pub use role::{Role, is_library, is_test};

use crate::diagnostic::Diagnostic;
use crate::script::{Failure, Source, on_big_stack, parse};

/// All that is wrong with a script and with the files it loads, each file once.
pub fn with_loads(source: &Source, role: Role, root: Option<&Path>) -> Vec<Diagnostic> {
    with_known(source, role, root, &mut HashSet::new())
}

/// The same, without the files that were looked at before.
pub fn with_known(source: &Source, role: Role, root: Option<&Path>, seen: &mut HashSet<String>) -> Vec<Diagnostic> {
    let job = || {
        let mut files = Files::new(root, role.paths());
        files.add(source);
        let mut interfaces: HashMap<String, Interface> = HashMap::new();
        let mut found = Vec::new();
        for file in &files.found {
            let (problems, interface) = one(&file.source, &file.parsed, role, &file.interfaces(&interfaces));
            interfaces.insert(file.key.clone(), interface);
            // What is shipped is not the reader's to change.
            if !file.source.name.starts_with('@') && seen.insert(file.key.clone()) {
                found.extend(file.faults.iter().cloned().chain(problems));
            }
        }
        found
    };
    on_big_stack(job).unwrap_or_else(broken)
}

/// One file by itself.
pub fn alone(source: &Source, role: Role) -> Vec<Diagnostic> {
    on_big_stack(|| one(source, &parse(source), role, &HashMap::new()).0).unwrap_or_else(broken)
}

fn broken(failure: Failure) -> Vec<Diagnostic> {
    vec![*failure.diagnostic]
}

/// In the order of the file.
fn one(
    source: &Source,
    parsed: &Result<AstModule, Diagnostic>,
    role: Role,
    loads: &HashMap<String, Interface>,
) -> (Vec<Diagnostic>, Interface) {
    let module = match parsed {
        Ok(module) => module,
        Err(problem) => return (vec![problem.clone()], Interface::empty()),
    };
    let mut problems = engine::lint(module, role);
    problems.extend(shadow::lint(module, source, role));
    // Types are advice, and the engine cannot tell them of names it does not know.
    let mut interface = Interface::empty();
    if !problems.iter().any(Diagnostic::is_error) {
        let (advice, known) = types::check(module, role, loads);
        problems.extend(advice);
        interface = known;
    }
    problems.sort_by_key(|problem| problem.place.as_ref().map_or(0, |place| place.span.start));
    (problems, interface)
}

#[cfg(test)]
mod tests;
