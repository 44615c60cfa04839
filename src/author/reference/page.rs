//! The reference as one page.

use std::fmt::Write;

use super::{Entry, Group, When, about_modules, entries};

const INTRODUCTION: &str = "\
# Built-ins

Everything the proxy adds to Starlark. This page is made from the comments in the code; change it there. Every example on
it is run by a test.
The language itself has `len`, `range`, `sorted`, `dict`, `list`, `struct`, `set`, `map`, `filter`, `partial` and the
other functions of [standard Starlark](https://github.com/bazelbuild/starlark/blob/master/spec.md).

*Top level* means that it works only while the session script runs, which decides what there is; *handler*, that it works
only while a call is handled, because the top level has no effects. Everything else works in both.
";

/// `docs/reference/builtins.md`.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    section(&mut page, "Only in session scripts", |group| group == Group::Session);
    let mut types: Vec<&str> = Vec::new();
    for entry in entries() {
        if let Group::Type(name) = entry.group
            && !types.contains(&name)
        {
            types.push(name);
        }
    }
    for name in types {
        section(&mut page, &format!("The type `{name}`"), |group| group == Group::Type(name));
    }
    section(&mut page, "Everywhere", |group| group == Group::Everywhere);
    section(&mut page, "Only in extensions", |group| group == Group::Extension);
    section(&mut page, "Only in tests", |group| group == Group::Test);
    page
}

fn section(page: &mut String, title: &str, wanted: impl Fn(Group) -> bool) {
    let _ = write!(page, "\n## {title}\n");
    let mut module = "";
    for entry in entries().iter().filter(|entry| wanted(entry.group)) {
        let of =
            entry.name.split_once('.').filter(|_| entry.group == Group::Extension).map_or("", |(module, _)| module);
        if of != module
            && let Some(about) = about_modules().get(of)
        {
            let _ = write!(page, "\n### The module `{of}`\n\n{about}\n");
        }
        module = of;
        let _ = write!(page, "\n### `{}`\n\n", heading(entry));
        match entry.when {
            When::Always => {}
            When::Top => page.push_str("*Top level.* "),
            When::Handler => page.push_str("*Handler.* "),
        }
        let _ = writeln!(page, "{}", entry.text);
    }
}

/// A member of a type goes without the type's name, which is the section's.
fn heading(entry: &Entry) -> String {
    match entry.group {
        Group::Type(name) => entry.signature[name.len()..].to_owned(),
        _ => entry.signature.clone(),
    }
}
