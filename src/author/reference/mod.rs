//! What the built-ins say of themselves, from their doc comments: for the page in `docs/reference`, the language server
//! and the prompt.

mod page;

use std::collections::HashMap;
use std::sync::LazyLock;

use starlark::docs::{DocFunction, DocItem, DocMember, DocModule, DocParam, DocString, DocStringKind};
use starlark::environment::{GlobalsBuilder, LibraryExtension};

pub use page::page;

use crate::author::lint::Role;
use crate::author::testing;
use crate::{builtins, extension};

/// One built-in: a function, a member of a module or of a type.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `publish`, `json.decode`, `Backend.tools`.
    pub name: String,
    /// `publish(meta, handler)`; of a member that is no function only its name.
    pub signature: String,
    pub text: String,
    pub group: Group,
    pub when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Of session scripts only.
    Session,
    Everywhere,
    /// Of extensions and their tests only.
    Extension,
    /// Of tests only.
    Test,
    /// A member of values that built-ins give.
    Type(&'static str),
}

/// When it can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// While the script runs, which decides what there is.
    Top,
    /// While a call is handled: the top level has no effects.
    Handler,
}

const TOP: [&str; 6] =
    ["publish", "publish_resource", "publish_resource_template", "publish_prompt", "passthrough", "instructions"];

const HANDLER: [&str; 10] = [
    "elicit",
    "check_rate_limit",
    "parallel",
    "run_script",
    "progress",
    "sleep",
    "search_index.call",
    "time.now",
    "time.now_ms",
    "time.sleep",
];

/// Modules all of whose members act on the world.
const ACTING: [&str; 7] = ["state", "shared_state", "http", "exec", "sqlite", "postgres", "uuid"];

impl Entry {
    /// In one line, for a person.
    pub fn availability(&self) -> String {
        let place = match self.group {
            Group::Session | Group::Type(_) => "session scripts",
            Group::Everywhere => "session scripts and extensions",
            Group::Extension => "extensions only",
            Group::Test => "tests only",
        };
        match self.when {
            When::Always => place.to_owned(),
            When::Top => format!("{place}, at the top level"),
            When::Handler => format!("{place}, while a call is handled"),
        }
    }

    /// Whether a file of that role can use it.
    pub fn is_for(&self, role: Role) -> bool {
        match self.group {
            Group::Everywhere => true,
            Group::Session | Group::Type(_) => matches!(role, Role::Session | Role::Library),
            Group::Extension => role != Role::Session,
            Group::Test => role == Role::Test,
        }
    }

    /// Title, text and availability, as Markdown.
    pub fn markdown(&self) -> String {
        format!("```python\n{}\n```\n\n{}\n\n*{}*", self.signature, self.text, self.availability())
    }
}

/// All of them, by group, sorted by name within it.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(collect);
    &ENTRIES
}

/// The entry of that name, or those of types that have a member of that name.
pub fn find(name: &str) -> Vec<&'static Entry> {
    let exact: Vec<&Entry> = entries().iter().filter(|entry| entry.name == name).collect();
    if !exact.is_empty() {
        return exact;
    }
    let Some((_, member)) = name.rsplit_once('.') else { return Vec::new() };
    let of_type =
        |entry: &&Entry| matches!(entry.group, Group::Type(_)) && entry.name.rsplit('.').next() == Some(member);
    entries().iter().filter(of_type).collect()
}

/// What the engine has by itself is not ours to document.
fn engine() -> DocModule {
    use LibraryExtension::{EnumType, Filter, Map, Partial, RecordType, SetType, StructType, Typing};
    GlobalsBuilder::extended_by(&[StructType, RecordType, EnumType, SetType, Map, Filter, Partial, Typing])
        .build()
        .documentation()
}

fn collect() -> Vec<Entry> {
    let engine = engine();
    let common = builtins::common().build().documentation();
    let mut entries = Vec::new();
    take(&mut entries, Group::Session, &builtins::session().documentation(), |name| !common.members.contains_key(name));
    for (name, documentation) in builtins::document::types() {
        for (member, item) in sorted(&documentation.members) {
            take_member(&mut entries, Group::Type(name), &format!("{name}.{member}"), item);
        }
    }
    take(&mut entries, Group::Everywhere, &common, |name| !engine.members.contains_key(name));
    take(&mut entries, Group::Extension, &without(extension::globals().documentation(), &common), |_| true);
    take(&mut entries, Group::Test, &testing::globals().documentation(), |name| name == "testing");
    entries
}

/// What a module has that another has not; of a module that both have the members.
fn without(mut module: DocModule, other: &DocModule) -> DocModule {
    module.members.retain(|name, item| match (item, other.members.get(name)) {
        (_, None) => true,
        (DocItem::Module(own), Some(DocItem::Module(known))) => {
            own.members.retain(|member, _| !known.members.contains_key(member));
            !own.members.is_empty()
        }
        _ => false,
    });
    module
}

/// What the modules of extensions are for, by name.
fn about_modules() -> &'static HashMap<&'static str, String> {
    static ABOUT: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
        let parsed = |text: String| DocString::from_docstring(DocStringKind::Rust, &text);
        let about = extension::about_modules().filter_map(|(name, said)| Some((name, text(&parsed(said)?))));
        about.collect()
    });
    &ABOUT
}

fn take(entries: &mut Vec<Entry>, group: Group, module: &DocModule, wanted: impl Fn(&str) -> bool) {
    for (name, item) in sorted(&module.members).into_iter().filter(|(name, _)| wanted(name)) {
        take_item(entries, group, name, item);
    }
}

fn take_item(entries: &mut Vec<Entry>, group: Group, name: &str, item: &DocItem) {
    match item {
        DocItem::Member(member) => take_member(entries, group, name, member),
        DocItem::Module(module) => {
            for (member, item) in sorted(&module.members) {
                take_item(entries, group, &format!("{name}.{member}"), item);
            }
        }
        DocItem::Type(documented) => {
            for (member, item) in sorted(&documented.members) {
                take_member(entries, group, &format!("{name}.{member}"), item);
            }
        }
    }
}

fn take_member(entries: &mut Vec<Entry>, group: Group, name: &str, member: &DocMember) {
    let (signature, docs) = match member {
        // A constant of a module, such as `math.pi`, cannot carry a comment.
        DocMember::Property(property) if property.docs.is_none() => return,
        DocMember::Property(property) => (name.to_owned(), &property.docs),
        DocMember::Function(function) => (signature(name, function), &function.docs),
    };
    let text = docs.as_ref().map(text).unwrap_or_default();
    entries.push(Entry { name: name.to_owned(), signature, text, group, when: when(name) });
}

fn when(name: &str) -> When {
    let module = name.split('.').next().unwrap_or_default();
    if TOP.contains(&name) {
        When::Top
    } else if HANDLER.contains(&name) || ACTING.contains(&module) {
        When::Handler
    } else {
        When::Always
    }
}

fn text(documentation: &DocString) -> String {
    match &documentation.details {
        Some(details) => format!("{}\n\n{details}", documentation.summary),
        None => documentation.summary.clone(),
    }
}

fn sorted<'a, T: 'a>(members: impl IntoIterator<Item = (&'a String, &'a T)>) -> Vec<(&'a str, &'a T)> {
    let mut members: Vec<_> = members.into_iter().map(|(name, item)| (name.as_str(), item)).collect();
    members.sort_by_key(|(name, _)| name.to_lowercase());
    members
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
