//! `docs/reference/builtins.md` is written from the doc comments. `UPDATE_DOCS=1 cargo test reference` rewrites it.

use std::fmt::Write;
use std::fs;

use starlark::docs::{DocFunction, DocItem, DocMember, DocModule, DocParam, DocString};
use starlark::environment::{GlobalsBuilder, LibraryExtension};
use starlark_mcp_proxy::author::testing;
use starlark_mcp_proxy::{builtins, extension};

use super::root;

const INTRODUCTION: &str = "\
# Built-ins

Everything the proxy adds to Starlark. This page is made from the comments in the code; change it there.
The language itself has `len`, `range`, `sorted`, `dict`, `list`, `struct`, `set`, `map`, `filter`, `partial` and the
other functions of [standard Starlark](https://github.com/bazelbuild/starlark/blob/master/spec.md).
";

/// What the engine has by itself is not ours to document.
fn engine() -> DocModule {
    use LibraryExtension::{EnumType, Filter, Map, Partial, RecordType, SetType, StructType, Typing};
    GlobalsBuilder::extended_by(&[StructType, RecordType, EnumType, SetType, Map, Filter, Partial, Typing])
        .build()
        .documentation()
}

fn generated() -> String {
    let mut page = INTRODUCTION.to_owned();
    let engine = engine();
    let common = builtins::common().build().documentation();
    let session = builtins::session().documentation();
    let extensions = extension::globals().documentation();
    page.push_str("\n## Only in session scripts\n");
    section(&mut page, &session, |name| !common.members.contains_key(name));
    for (name, documentation) in builtins::document::types() {
        let _ = write!(page, "\n## The type `{name}`\n");
        for (member, item) in sorted(&documentation.members) {
            match item {
                DocMember::Property(property) => entry(&mut page, &format!(".{member}"), property.docs.as_ref()),
                DocMember::Function(function) => {
                    entry(&mut page, &format!(".{}", signature(member, function)), function.docs.as_ref());
                }
            }
        }
    }
    page.push_str("\n## Everywhere\n");
    section(&mut page, &common, |name| !engine.members.contains_key(name));
    page.push_str("\n## Only in extensions\n");
    section(&mut page, &extensions, |name| !common.members.contains_key(name));
    page.push_str("\n## Only in tests\n");
    section(&mut page, &testing::globals().documentation(), |name| name == "testing");
    page
}

fn section(page: &mut String, module: &DocModule, wanted: impl Fn(&str) -> bool) {
    for (name, item) in sorted(&module.members).into_iter().filter(|(name, _)| wanted(name)) {
        match item {
            DocItem::Member(DocMember::Function(function)) => {
                entry(page, &signature(name, function), function.docs.as_ref());
            }
            DocItem::Module(module) => {
                for (member, item) in sorted(&module.members) {
                    let DocItem::Member(DocMember::Function(function)) = item else { continue };
                    entry(page, &signature(&format!("{name}.{member}"), function), function.docs.as_ref());
                }
            }
            _ => panic!("`{name}` is neither a function nor a module"),
        }
    }
}

fn sorted<'a, T: 'a>(members: impl IntoIterator<Item = (&'a String, &'a T)>) -> Vec<(&'a str, &'a T)> {
    let mut members: Vec<_> = members.into_iter().map(|(name, item)| (name.as_str(), item)).collect();
    members.sort_by_key(|(name, _)| name.to_lowercase());
    members
}

fn entry(page: &mut String, title: &str, documentation: Option<&DocString>) {
    let documentation = documentation.unwrap_or_else(|| panic!("`{title}` has no documentation"));
    let _ = write!(page, "\n### `{title}`\n\n{}\n", documentation.summary);
    if let Some(details) = &documentation.details {
        let _ = write!(page, "\n{details}\n");
    }
}

/// `publish(meta, handler)`, with defaults and without types.
fn signature(name: &str, function: &DocFunction) -> String {
    let parameters = &function.params;
    let shown = |parameter: &DocParam| match &parameter.default_value {
        Some(default) if default == "_" => format!("{} = ...", parameter.name),
        Some(default) => format!("{} = {default}", parameter.name),
        None => parameter.name.clone(),
    };
    let mut list: Vec<String> = parameters.pos_only.iter().chain(&parameters.pos_or_named).map(shown).collect();
    match &parameters.args {
        Some(rest) => list.push(format!("*{}", rest.name.trim_start_matches('*'))),
        None if !parameters.named_only.is_empty() => list.push("*".to_owned()),
        None => {}
    }
    list.extend(parameters.named_only.iter().map(shown));
    list.extend(parameters.kwargs.iter().map(|rest| format!("**{}", rest.name.trim_start_matches('*'))));
    format!("{name}({})", list.join(", "))
}

#[test]
fn the_reference_of_the_built_ins_is_fresh() {
    let path = root().join("docs/reference/builtins.md");
    let wanted = generated();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("cannot make the folder");
        fs::write(&path, &wanted).expect("cannot write the reference");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/reference/builtins.md is old: run `UPDATE_DOCS=1 cargo test reference`");
}
