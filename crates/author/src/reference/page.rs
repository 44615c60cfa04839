//! Renders the reference as one Markdown page.

use std::fmt::Write;

use super::{BuiltinEntry, Group, HANDLER_SENTENCE, TOP_LEVEL_SENTENCE, When, about_modules, entries};

const INTRODUCTION: &str = "\
# Built-ins

The functions and types that the proxy adds to Starlark. The language itself has `len`, `range`, `sorted`, `dict`, `list`
and the other functions from [standard Starlark](https://github.com/bazelbuild/starlark/blob/master/spec.md). `struct`,
`set`, `map`, `filter` and `partial` come from [starlark-rust](https://github.com/facebook/starlark-rust), the
implementation that the proxy uses.

Documented elsewhere: the hooks [`on_request`](../guides/session-scripts.md#request-hooks) and
[`on_other_request`](../guides/session-scripts.md#other-requests), and the library
[`@proxy//lib@1.star`](../guides/session-scripts.md#the-built-in-library).

Built-ins marked *Top level* work only while the session script runs and decides what to publish. Built-ins marked
*Handler* work only while a call is handled, because the top level must not have effects. All others work in both.
In a signature, `= ...` marks an optional argument.
";

/// What scripts do most, with the built-ins for it.
const TASKS: [(&str, &[&str]); 8] = [
    ("publish", &["backends", "publish", "publish_resource", "publish_prompt", "passthrough", "skip"]),
    ("metadata", &["metadata", "resource_metadata", "prompt_metadata", "metadata.replace", "bind"]),
    ("call", &["Backend.tools", "parallel", "attempt", "search_index"]),
    ("results", &["unwrap", "error", "image", "blob", "link", "redact"]),
    ("state", &["state.get", "state.set", "state.incr", "shared_state.get", "cached"]),
    ("limits", &["check_rate_limit", "check_rate_limits"]),
    ("data flow", &["marks", "mark"]),
    ("ask the user", &["elicit", "elicit_url"]),
];

/// The content of `docs/reference/builtins.md`.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    tasks(&mut page);
    section(&mut page, "Only in session scripts", |group| group == Group::Session);
    for name in type_names(|group| if let Group::Type(name) = group { Some(name) } else { None }) {
        section(&mut page, &format!("The type `{name}`"), |group| group == Group::Type(name));
    }
    section(&mut page, "Everywhere", |group| group == Group::Everywhere);
    section(&mut page, "Only in extensions", |group| group == Group::Extension);
    section(&mut page, "Only in tests", |group| group == Group::Test);
    for name in type_names(|group| if let Group::TestType(name) = group { Some(name) } else { None }) {
        section(&mut page, &format!("The type `{name}`"), |group| group == Group::TestType(name));
    }
    page
}

fn tasks(page: &mut String) {
    page.push_str("\n| task | built-ins |\n|---|---|\n");
    for (task, names) in TASKS {
        let links: Vec<String> = names.iter().map(|name| link(name)).collect();
        let _ = writeln!(page, "| {task} | {} |", links.join(", "));
    }
}

/// A link to the heading of an entry.
fn link(name: &str) -> String {
    let title = entries().iter().find(|entry| entry.name == name).map(heading).unwrap_or_default().to_lowercase();
    let anchor: String = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter)).collect();
    format!("[`{name}`](#{})", anchor.replace(' ', "-"))
}

/// The types of a kind of group, in the order of the entries.
fn type_names(of: impl Fn(Group) -> Option<&'static str>) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = entries().iter().filter_map(|entry| of(entry.group)).collect();
    names.dedup();
    names
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
        let _ = writeln!(page, "{}", without_availability(&entry.text));
    }
}

/// The text without the sentences that the mark before it repeats.
fn without_availability(text: &str) -> String {
    [TOP_LEVEL_SENTENCE, HANDLER_SENTENCE].iter().fold(text.to_owned(), |text, sentence| {
        text.replace(&format!(" {sentence}."), "").replace(&format!("\n{sentence}."), "")
    })
}

/// The heading of an entry. Members of a type omit the name of the type, which is the heading of the section.
fn heading(entry: &BuiltinEntry) -> String {
    match entry.group {
        Group::Type(name) | Group::TestType(name) => entry.signature[name.len()..].to_owned(),
        _ => entry.signature.clone(),
    }
}
