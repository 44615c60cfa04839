//! The reference of the built-ins, from their doc comments: for the page in `docs/reference`, the language server and
//! the prompt.

mod page;

use std::collections::HashMap;
use std::sync::LazyLock;

use starlark::docs::{DocFunction, DocItem, DocMember, DocModule, DocParam, DocString, DocStringKind};
use starlark::environment::{GlobalsBuilder, LibraryExtension};

pub use page::page;

use crate::lint::Role;
use crate::testing;
use proxy_builtins as builtins;
use proxy_engine::extension;
use proxy_script::register_operators;

/// One built-in: a function, or a member of a module or type.
#[derive(Clone, Debug)]
pub struct BuiltinEntry {
    /// `publish`, `json.decode`, `Backend.tools`.
    pub name: String,
    /// `publish(meta, handler)`; for a member that is not a function only its name.
    pub signature: String,
    pub text: String,
    pub group: Group,
    pub when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// In session scripts only.
    Session,
    /// In session scripts and extensions.
    Everywhere,
    /// In extensions and their tests only.
    Extension,
    /// In tests only.
    Test,
    /// A member of this type, for values that built-ins return.
    Type(&'static str),
    /// A member of this type, for values that the functions of `testing` return.
    TestType(&'static str),
}

/// When a built-in can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// While the session script runs, which decides what is published.
    Top,
    /// While a call is handled, because the top level must not have effects.
    Handler,
}

/// The sentence in the doc comment of a built-in of [`When::Top`].
const TOP_LEVEL_SENTENCE: &str = "Only at the top level";

/// The sentence in the doc comment of a built-in of [`When::Handler`].
const HANDLER_SENTENCE: &str = "Only while a call is handled";

/// Modules whose members all have effects. Their members are of [`When::Handler`] without the sentence.
const EFFECT_MODULES: [&str; 7] = ["state", "shared_state", "http", "exec", "sqlite", "postgres", "uuid"];

impl BuiltinEntry {
    /// Where and when the built-in can be used, on one line.
    pub fn availability(&self) -> String {
        let files = match self.group {
            Group::Session | Group::Type(_) => "session scripts",
            Group::Everywhere => "session scripts and extensions",
            Group::Extension => "extensions only",
            Group::Test | Group::TestType(_) => "tests only",
        };
        match self.when {
            When::Always => files.to_owned(),
            When::Top => format!("{files}, at the top level"),
            When::Handler => format!("{files}, while a call is handled"),
        }
    }

    /// Whether a file of this role can use the built-in.
    pub fn is_for(&self, role: Role) -> bool {
        match self.group {
            Group::Everywhere => true,
            Group::Session | Group::Type(_) => matches!(role, Role::Session | Role::Library),
            Group::Extension => role != Role::Session,
            Group::Test | Group::TestType(_) => role == Role::Test,
        }
    }

    /// Signature, text and availability as Markdown.
    pub fn markdown(&self) -> String {
        format!("```python\n{}\n```\n\n{}\n\n*{}*", self.signature, self.text, self.availability())
    }
}

/// All built-ins by group, sorted by name within each group.
pub fn entries() -> &'static [BuiltinEntry] {
    static ENTRIES: LazyLock<Vec<BuiltinEntry>> = LazyLock::new(collect);
    &ENTRIES
}

/// The built-in with this name; otherwise the members of types with the name after its last dot.
pub fn find(name: &str) -> Vec<&'static BuiltinEntry> {
    let exact: Vec<&BuiltinEntry> = entries().iter().filter(|entry| entry.name == name).collect();
    if !exact.is_empty() {
        return exact;
    }
    let Some((_, member)) = name.rsplit_once('.') else { return Vec::new() };
    let of_type =
        |entry: &&BuiltinEntry| matches!(entry.group, Group::Type(_)) && entry.name.rsplit('.').next() == Some(member);
    entries().iter().filter(of_type).collect()
}

/// Starlark's own built-ins, which the reference leaves out.
fn engine() -> DocModule {
    use LibraryExtension::{EnumType, Filter, Map, Partial, RecordType, SetType, StructType, Typing};
    GlobalsBuilder::extended_by(&[StructType, RecordType, EnumType, SetType, Map, Filter, Partial, Typing])
        .with(register_operators)
        .build()
        .documentation()
}

fn collect() -> Vec<BuiltinEntry> {
    let engine = engine();
    let common = builtins::common().build().documentation();
    let mut entries = Vec::new();
    add_members(&mut entries, Group::Session, &builtins::session().documentation(), |name| {
        !common.members.contains_key(name)
    });
    for (name, documentation) in builtins::document::types() {
        for (member, item) in sorted(&documentation.members) {
            add_member(&mut entries, Group::Type(name), &format!("{name}.{member}"), item);
        }
    }
    add_members(&mut entries, Group::Everywhere, &common, |name| !engine.members.contains_key(name));
    add_members(&mut entries, Group::Extension, &without(extension::globals().documentation(), &common), |_| true);
    add_members(&mut entries, Group::Test, &testing::globals().documentation(), |name| name == "testing");
    for (name, documentation) in testing::types() {
        for (member, item) in sorted(&documentation.members) {
            add_member(&mut entries, Group::TestType(name), &format!("{name}.{member}"), item);
        }
    }
    entries
}

/// The members of a module that another module does not have; applies to submodules too.
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

/// Introductions of the modules of extensions, by name.
fn about_modules() -> &'static HashMap<&'static str, String> {
    static ABOUT: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
        let parsed = |text: String| DocString::from_docstring(DocStringKind::Rust, &text);
        let about = extension::about_modules().filter_map(|(name, docs)| Some((name, text(&parsed(docs)?))));
        about.collect()
    });
    &ABOUT
}

fn add_members(entries: &mut Vec<BuiltinEntry>, group: Group, module: &DocModule, included: impl Fn(&str) -> bool) {
    for (name, item) in sorted(&module.members).into_iter().filter(|(name, _)| included(name)) {
        add_item(entries, group, name, item);
    }
}

fn add_item(entries: &mut Vec<BuiltinEntry>, group: Group, name: &str, item: &DocItem) {
    match item {
        DocItem::Member(member) => add_member(entries, group, name, member),
        DocItem::Module(module) => {
            for (member, item) in sorted(&module.members) {
                add_item(entries, group, &format!("{name}.{member}"), item);
            }
        }
        DocItem::Type(documented) => {
            for (member, item) in sorted(&documented.members) {
                add_member(entries, group, &format!("{name}.{member}"), item);
            }
        }
    }
}

fn add_member(entries: &mut Vec<BuiltinEntry>, group: Group, name: &str, member: &DocMember) {
    let (signature, docs) = match member {
        // Constants of modules, such as `math.pi`, cannot have a doc comment.
        DocMember::Property(property) if property.docs.is_none() => return,
        DocMember::Property(property) => (name.to_owned(), &property.docs),
        DocMember::Function(function) => (signature(name, function), &function.docs),
    };
    let text = docs.as_ref().map(text).unwrap_or_default();
    let when = when(name, &text);
    entries.push(BuiltinEntry { name: name.to_owned(), signature, text, group, when });
}

/// When a built-in can be called, according to its documentation.
fn when(name: &str, text: &str) -> When {
    let module = name.split('.').next().unwrap_or_default();
    // A sentence may continue on the next line of the doc comment.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.contains(TOP_LEVEL_SENTENCE) {
        When::Top
    } else if text.contains(HANDLER_SENTENCE) || EFFECT_MODULES.contains(&module) {
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

/// The signature with defaults and without types: `publish(meta, handler)`.
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
