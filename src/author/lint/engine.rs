//! What the engine's own linter finds, as far as it matters here, in our words.

use starlark::analysis::{AstModuleLint, Lint};
use starlark::syntax::AstModule;

use super::Role;
use crate::builtins::presets;
use crate::diagnostic::{Diagnostic, nearest};
use crate::script::place;

pub(super) fn lint(module: &AstModule, role: Role) -> Vec<Diagnostic> {
    let known = role.names();
    module.lint(Some(known)).iter().filter_map(|lint| told(lint, role)).collect()
}

/// Left out is what is a matter of taste, and what is usual here: a function that ends without `return`, a handler that
/// does not look at its arguments.
fn told(lint: &Lint, role: Role) -> Option<Diagnostic> {
    let quoted: Vec<&str> = lint.problem.split('`').skip(1).step_by(2).collect();
    // The name comes last, behind the kind of statement it is about.
    let name = quoted.last().copied().unwrap_or(&lint.original);
    let diagnostic = match lint.short_name.as_str() {
        "unused-load" => Diagnostic::warning(format!("`{name}` is loaded and never used"))
            .rule("unused-load")
            .hint("take it out of the `load()`"),
        "unused-assign" => Diagnostic::warning(format!("`{name}` is assigned and never read"))
            .rule("unused-assign")
            .hint(format!("take it out, or call it `_{name}` to say that it is meant so")),
        "unreachable" => Diagnostic::warning("this is never reached")
            .rule("unreachable")
            .hint("what stands before it always returns, breaks, continues or fails"),
        "using-undefined" => undefined(name, role),
        "using-unassigned" => Diagnostic::warning(format!("`{name}` is read before it is assigned"))
            .rule("using-unassigned")
            .hint("a name that is assigned anywhere in a function is a variable of that function throughout"),
        "using-maybe-undefined" => Diagnostic::warning(format!("`{name}` may not be assigned here"))
            .rule("using-maybe-undefined")
            .hint("assign it before the `if` or the loop"),
        "no-effect" => Diagnostic::warning("this does nothing")
            .rule("no-effect")
            .hint("was it meant to be called, assigned or returned?"),
        "ident-as-statement" => Diagnostic::warning(format!("`{name}` by itself does nothing"))
            .rule("ident-as-statement")
            .hint(if lint.original.contains('.') { "call it".to_owned() } else { format!("call it: `{name}()`") }),
        "duplicate-key" => Diagnostic::warning(format!("the key {name} is in this dict twice"))
            .rule("duplicate-key")
            .hint("the last one counts"),
        "incompatible-type-check" => Diagnostic::warning("`type()` gives text, so this is never true")
            .rule("incompatible-type-check")
            .hint("compare with text, for example `type(x) == \"string\"`"),
        _ => return None,
    };
    Some(diagnostic.at(first_line(place(&lint.location))))
}

fn undefined(name: &str, role: Role) -> Diagnostic {
    let diagnostic = Diagnostic::error(format!("there is no `{name}`")).rule("using-undefined");
    if let Some(place) = role.elsewhere(name) {
        return diagnostic.hint(format!("`{name}` is for {place} only"));
    }
    if let (Role::Session | Role::Library, Some(file)) = (role, shipped(name)) {
        return diagnostic.hint(format!("it is in a shipped file: `load(\"@proxy//{file}\", \"{name}\")`"));
    }
    match nearest(name, role.names().iter().map(String::as_str)) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// The shipped file that makes that name for others.
fn shipped(name: &str) -> Option<&'static str> {
    let definition = format!("\ndef {name}(");
    let file = presets::LIBRARY.iter().find(|file| !name.starts_with('_') && file.text.contains(&definition))?;
    Some(file.name)
}

/// A whole block would hide the message; its first line shows where it begins.
fn first_line(mut place: crate::diagnostic::Place) -> crate::diagnostic::Place {
    let text = place.source.get(place.span.clone()).unwrap_or_default();
    if let Some(end) = text.find('\n') {
        place.span.end = place.span.start + text[..end].trim_end().len();
    }
    place
}
