//! Renders the reference as one Markdown page.

use std::fmt::Write;

use super::{BuiltinEntry, Group, When, about_modules, entries};

const INTRODUCTION: &str = "\
# Built-ins

Everything the proxy adds to Starlark. This page is generated from doc comments in the source; edit them there. A test
runs every example.
The language itself has `len`, `range`, `sorted`, `dict`, `list`, `struct`, `set`, `map`, `filter`, `partial` and the
other functions of [standard Starlark](https://github.com/bazelbuild/starlark/blob/master/spec.md).

Built-ins marked *top level* work only while the session script runs, which decides what is published. Built-ins marked
*handler* work only while a call is handled, because the top level must not have effects. All others work in both.
";

/// The content of `docs/reference/builtins.md`.
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

fn section(page: &mut String, title: &str, included: impl Fn(Group) -> bool) {
    let _ = write!(page, "\n## {title}\n");
    let mut previous_module = "";
    for entry in entries().iter().filter(|entry| included(entry.group)) {
        let module =
            entry.name.split_once('.').filter(|_| entry.group == Group::Extension).map_or("", |(module, _)| module);
        if module != previous_module
            && let Some(about) = about_modules().get(module)
        {
            let _ = write!(page, "\n### The module `{module}`\n\n{about}\n");
        }
        previous_module = module;
        let _ = write!(page, "\n### `{}`\n\n", heading(entry));
        match entry.when {
            When::Always => {}
            When::Top => page.push_str("*Top level.* "),
            When::Handler => page.push_str("*Handler.* "),
        }
        let _ = writeln!(page, "{}", entry.text);
    }
}

/// The heading of an entry. Members of a type omit the name of the type, which is the heading of the section.
fn heading(entry: &BuiltinEntry) -> String {
    match entry.group {
        Group::Type(name) => entry.signature[name.len()..].to_owned(),
        _ => entry.signature.clone(),
    }
}
