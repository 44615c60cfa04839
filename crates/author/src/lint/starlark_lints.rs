//! The lints of Starlark's own linter that are useful for scripts, with our messages.

use starlark::analysis::{AstModuleLint, Lint};
use starlark::syntax::AstModule;

use super::{Role, scope};
use proxy_base::diagnostic::{Diagnostic, Location, nearest};
use proxy_builtins::presets;
use proxy_script::place;

pub(super) fn lint(module: &AstModule, role: Role) -> Vec<Diagnostic> {
    let known = role.names();
    module.lint(Some(known)).iter().filter_map(|lint| problem(lint, module, role)).collect()
}

/// Leaves out lints about style, and lints about what is common in scripts: a function without `return`, a handler that
/// does not use its arguments.
fn problem(lint: &Lint, module: &AstModule, role: Role) -> Option<Diagnostic> {
    let quoted: Vec<&str> = lint.problem.split('`').skip(1).step_by(2).collect();
    // The name is the last quoted word; the kind of statement may precede it.
    let name = quoted.last().copied().unwrap_or(&lint.original);
    let diagnostic = match lint.short_name.as_str() {
        "unused-load" => Diagnostic::warning(format!("`{name}` is loaded but never used"))
            .rule("unused-load")
            .hint("remove it from the `load()`"),
        // Only in functions does the engine know that such a name is meant to be unused.
        "unused-assign" if name.starts_with('_') => return None,
        "unused-assign" => Diagnostic::warning(format!("`{name}` is assigned but never used"))
            .rule("unused-assign")
            .hint(format!("remove it, or rename it to `_{name}` if this is intended")),
        "unreachable" => Diagnostic::warning("unreachable code")
            .rule("unreachable")
            .hint("the code before it always returns, breaks, continues or fails"),
        "using-undefined" => undefined(name, &scope::names_at(module, lint.location.span.begin().get()), role),
        "using-unassigned" => Diagnostic::warning(format!("`{name}` is used before it is assigned"))
            .rule("using-unassigned")
            .hint("a name assigned anywhere in a function is local to the whole function"),
        "using-maybe-undefined" => Diagnostic::warning(format!("`{name}` may be undefined here"))
            .rule("using-maybe-undefined")
            .hint("assign it before the `if` or the loop"),
        "no-effect" => Diagnostic::warning("this statement has no effect")
            .rule("no-effect")
            .hint("call it, assign it or return it"),
        "ident-as-statement" => Diagnostic::warning(format!("`{name}` has no effect as a statement"))
            .rule("ident-as-statement")
            .hint(if lint.original.contains('.') { "call it".to_owned() } else { format!("call it: `{name}()`") }),
        "duplicate-key" => Diagnostic::warning(format!("duplicate key {name} in this dict"))
            .rule("duplicate-key")
            .hint("the last value is used; remove the others"),
        "incompatible-type-check" => Diagnostic::warning("`type()` returns a string, so this comparison is never true")
            .rule("incompatible-type-check")
            .hint("compare with a string, for example `type(x) == \"string\"`"),
        _ => return None,
    };
    Some(diagnostic.at(first_line(place(&lint.location))))
}

/// `in_scope` are the names of the file that can be used in its place.
fn undefined(name: &str, in_scope: &[String], role: Role) -> Diagnostic {
    let diagnostic = Diagnostic::error(format!("undefined name `{name}`")).rule("using-undefined");
    if let Some(files) = role.elsewhere(name) {
        return diagnostic.hint(format!("`{name}` is available in {files} only"));
    }
    if let Some(cure) = known_elsewhere(name) {
        return diagnostic.hint(cure);
    }
    if let (Role::Session | Role::Library, Some(file)) = (role, library_of(name)) {
        return diagnostic.hint(format!("it is in a library: `load(\"@proxy//{file}\", \"{name}\")`"));
    }
    // Of two names that are as near, that of the file is meant.
    match nearest(name, in_scope.iter().chain(role.names()).map(String::as_str)) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// What is called otherwise here. Scripts of other proxies, and those that models write, use such names.
fn known_elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "scrub_pii" | "redact_pii" | "mask_pii" => "`redact(text)` replaces personal data and secrets",
        "enforce_cedar_policies" | "cedar" => {
            "scripts do not call policies: list their files in the config, `cedar: { policies: [policies] }`; they \
             apply to everything that the script publishes"
        }
        _ => return None,
    })
}

/// The embedded library that defines a function.
fn library_of(name: &str) -> Option<&'static str> {
    let definition = format!("\ndef {name}(");
    let file = presets::LIBRARY.iter().find(|file| !name.starts_with('_') && file.text.contains(&definition))?;
    Some(file.name)
}

/// Marks only the first line of a block, so that the message remains visible.
fn first_line(mut place: Location) -> Location {
    let text = place.source.get(place.span.clone()).unwrap_or_default();
    if let Some(end) = text.find('\n') {
        place.span.end = place.span.start + text[..end].trim_end().len();
    }
    place
}
