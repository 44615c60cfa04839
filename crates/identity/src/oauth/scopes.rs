//! Lists of scopes.

use proxy_base::foreign_text::quoted;

/// Adds the scopes that are not there yet.
pub(super) fn add(scopes: &mut Vec<String>, more: &[String]) {
    for scope in more {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
}

pub(super) fn has_all(scopes: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|scope| scopes.contains(scope))
}

/// Scopes in the text of an error.
pub(super) fn shown(scopes: &[String]) -> String {
    quoted(&scopes.join(" "))
}
