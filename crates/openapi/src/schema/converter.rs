//! Writes single schemas. What they refer to is collected as parts, which have a name of their own in the whole description,
//! so that a schema is written once for all tools.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::keywords::{Copied, copied, key, separate, shortened, types};
use super::patterns::Patterns;
use crate::document::{Documents, Key, Node, Place};
use crate::notes::Notes;
use crate::unique_names::UniqueNames;

/// Members in which schemas stand: one, a list, or by names.
const ONE: [&str; 11] = [
    "items",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAX_DESCRIPTION: usize = 2048;
/// How much of a description stays where the schema is cut off.
const MAX_STUB: usize = 200;
const MAX_CHAIN: usize = 32;
/// A longer schema fits nowhere, so its rest is not written.
const MAX_WRITTEN: usize = 256 << 10;
/// How much is written for all tools together. Many tools may use one large parameter.
const MAX_IN_ALL: usize = 256 << 20;
/// Schemas that take longer to write are written once, if several tools have them.
const KEPT: usize = 16 << 10;
/// A longer list of values tells a model nothing.
const MAX_VALUES: usize = 5000;
/// How many members are looked at to find those that are not sent.
const MAX_HIDDEN: usize = 20_000;
const MAX_NAME: usize = 64;

/// Members that are `readOnly` do not belong into a request; those that are `writeOnly` are in no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Request,
    Response,
}

/// A schema as text, and the parts it refers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) parts: Vec<usize>,
    /// Whether something was cut off.
    pub(crate) is_cut: bool,
}

/// How the outermost schema is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Root<'a> {
    /// Instead of its own.
    pub(crate) description: Option<&'a str>,
    /// How many levels of schemas are written; `None` for all.
    pub(crate) levels: Option<usize>,
}

#[derive(Clone, Copy)]
struct Context<'a> {
    root: Root<'a>,
    /// Members that another branch of an `allOf` hides.
    hidden: &'a HashSet<&'a str>,
}

impl Context<'_> {
    /// For schemas in this one.
    fn below<'n>(&self, hidden: &'n HashSet<&'n str>) -> Context<'n> {
        let levels = self.root.levels.map(|levels| levels.saturating_sub(1));
        Context { root: Root { description: None, levels }, hidden }
    }
}

struct Part<'d> {
    name: String,
    place: Place<'d>,
    written: Option<Rc<Written>>,
}

pub(crate) struct Converter<'d> {
    pub(super) documents: &'d Documents,
    /// OpenAPI 3.0, where the members beside a `$ref` mean nothing.
    is_older: bool,
    direction: Direction,
    notes: &'d Notes,
    ids: HashMap<Key, usize>,
    parts: Vec<Part<'d>>,
    names: UniqueNames,
    patterns: &'d Patterns,
    /// How much has been written.
    bytes: usize,
    /// Large schemas that are not parts, such as those of shared parameters.
    kept: HashMap<KeptKey, Rc<Written>>,
}

/// The address of a node, and how it was written.
type KeptKey = (*const Node, Option<usize>, Option<*const str>);

impl<'d> Converter<'d> {
    pub(crate) fn new(
        documents: &'d Documents,
        is_older: bool,
        direction: Direction,
        patterns: &'d Patterns,
        notes: &'d Notes,
    ) -> Self {
        Converter {
            documents,
            is_older,
            direction,
            notes,
            ids: HashMap::new(),
            parts: Vec::new(),
            names: UniqueNames::default(),
            patterns,
            bytes: 0,
            kept: HashMap::new(),
        }
    }

    /// Writes one schema.
    pub(crate) fn write(&mut self, place: Place<'d>, root: Root<'_>) -> Rc<Written> {
        let key: KeptKey = (std::ptr::from_ref(place.node), root.levels, root.description.map(std::ptr::from_ref));
        if let Some(kept) = self.kept.get(&key) {
            return Rc::clone(kept);
        }
        let mut out = Written::default();
        if self.bytes > MAX_IN_ALL {
            self.notes.add("the description is too large: some arguments allow anything".to_owned());
            "{}".clone_into(&mut out.text);
            out.is_cut = true;
            return Rc::new(out);
        }
        self.schema(&mut out, place, Context { root, hidden: &HashSet::new() });
        self.bytes += out.text.len();
        let written = Rc::new(out);
        if written.text.len() > KEPT {
            self.kept.insert(key, Rc::clone(&written));
        }
        written
    }

    /// Whether the members beside a `$ref` mean nothing.
    pub(super) fn ignores_siblings(&self) -> bool {
        self.is_older
    }

    pub(super) fn name(&self, part: usize) -> &str {
        &self.parts[part].name
    }

    /// A part as it is written in all tools.
    pub(super) fn written(&mut self, part: usize) -> Rc<Written> {
        if let Some(written) = &self.parts[part].written {
            return Rc::clone(written);
        }
        let written = self.write(self.parts[part].place, Root::default());
        self.parts[part].written = Some(Rc::clone(&written));
        written
    }

    /// What stands for a part that is cut off.
    pub(super) fn stub(&self, part: usize) -> String {
        let mut text = String::new();
        write_stub(&mut text, self.parts[part].place.node.text_of("description"));
        text
    }

    /// The schema behind a reference, through references that are nothing else.
    pub(super) fn target(&self, document: usize, reference: &str) -> Result<(Key, Place<'d>), String> {
        let (mut key, mut place) = self.documents.resolve(document, reference)?;
        for _ in 0..MAX_CHAIN {
            match place.node.text_of("$ref") {
                Some(next) if self.is_older || place.node.map().is_some_and(|map| map.len() == 1) => {
                    (key, place) = self.documents.resolve(place.document, next)?;
                }
                _ => return Ok((key, place)),
            }
        }
        Err(format!("`{reference}` leads through references in a circle"))
    }

    fn part(&mut self, document: usize, reference: &str) -> Result<usize, String> {
        let (key, place) = self.target(document, reference)?;
        if let Some(id) = self.ids.get(&key) {
            return Ok(*id);
        }
        let id = self.parts.len();
        let name = self.new_name(&key.pointer);
        self.parts.push(Part { name, place, written: None });
        self.ids.insert(key, id);
        Ok(id)
    }

    /// A name that no other part has, after the last part of the pointer.
    fn new_name(&mut self, pointer: &str) -> String {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let speakable = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
        let mut name: String =
            last.chars().map(|character| if speakable(character) { character } else { '_' }).take(MAX_NAME).collect();
        if name.is_empty() {
            "schema".clone_into(&mut name);
        }
        self.names.unique(&name, MAX_NAME)
    }

    fn schema(&mut self, out: &mut Written, place: Place<'d>, context: Context<'_>) {
        let node = place.node;
        if out.text.len() > MAX_WRITTEN {
            out.is_cut = true;
            return out.text.push_str("{}");
        }
        if let Node::Bool(allows) = node {
            return out.text.push_str(if *allows { "{}" } else { "false" });
        }
        let description = context.root.description.or_else(|| node.text_of("description"));
        if context.root.levels == Some(0) {
            out.is_cut = true;
            return write_stub(&mut out.text, description);
        }
        if node.map().is_none() {
            return out.text.push_str("{}");
        }
        out.text.push('{');
        if let Some(reference) = node.text_of("$ref") {
            match self.part(place.document, reference) {
                Ok(id) => {
                    out.parts.push(id);
                    key(&mut out.text, "$ref");
                    proxy_json::push_quoted(&mut out.text, &format!("#/$defs/{}", self.parts[id].name));
                }
                Err(problem) => self.notes.add(format!("{problem}; anything is allowed there")),
            }
            if self.is_older {
                write_description(&mut out.text, context.root.description);
                return out.text.push('}');
            }
        }
        write_description(&mut out.text, description.or_else(|| node.text_of("title")));
        let is_composed = ["allOf", "anyOf", "oneOf"].iter().any(|keyword| !node.items_of(keyword).is_empty());
        let is_nullable = node.is_true("nullable");
        if is_nullable && is_composed {
            // Each branch alone could refuse `null`.
            key(&mut out.text, "anyOf");
            out.text.push_str("[{");
            self.keywords(out, place, context, false);
            out.text.push_str("},{\"type\":\"null\"}]");
        } else {
            self.keywords(out, place, context, is_nullable);
        }
        out.text.push('}');
    }

    fn keywords(&mut self, out: &mut Written, place: Place<'d>, context: Context<'_>, is_nullable: bool) {
        let Some(map) = place.node.map() else { return };
        let none = HashSet::new();
        let below = context.below(&none);
        let mut hidden = context.hidden.clone();
        self.collect_hidden(place, &mut hidden);
        for (name, node) in map.iter() {
            let at = place.at(node);
            match name {
                "type" => write_types(&mut out.text, node, is_nullable),
                "enum" => write_enum(&mut out.text, node, is_nullable),
                "minimum" => write_limit(&mut out.text, place.node, name, "exclusiveMinimum"),
                "maximum" => write_limit(&mut out.text, place.node, name, "exclusiveMaximum"),
                "pattern" => {
                    if let Some(pattern) = node.text().filter(|pattern| self.is_pattern(pattern)) {
                        key(&mut out.text, name);
                        proxy_json::push_quoted(&mut out.text, pattern);
                    }
                }
                "required" => write_required(&mut out.text, node, &hidden),
                "properties" => self.named(out, at, name, below, &hidden),
                "patternProperties" | "dependentSchemas" => self.named(out, at, name, below, &none),
                "items" if node.list().is_some() => self.listed(out, at, "prefixItems", below),
                "allOf" => self.listed(out, at, name, context.below(&hidden)),
                _ if LISTS.contains(&name) => self.listed(out, at, name, below),
                _ if ONE.contains(&name) => {
                    if matches!(node, Node::Map(_) | Node::Bool(_)) {
                        key(&mut out.text, name);
                        self.schema(out, at, below);
                    }
                }
                _ => {
                    if let Copied::If(is_valid) = copied(name)
                        && is_valid(node)
                    {
                        key(&mut out.text, name);
                        node.write_json(&mut out.text);
                    }
                }
            }
        }
        let is_binary = place.node.text_of("format") == Some("binary") && map.get("contentEncoding").is_none();
        if is_binary {
            out.text.push_str(",\"contentEncoding\":\"base64\"");
        }
    }

    fn named(&mut self, out: &mut Written, place: Place<'d>, name: &str, below: Context<'_>, hidden: &HashSet<&str>) {
        let Some(map) = place.node.map() else { return };
        key(&mut out.text, name);
        out.text.push('{');
        for (member, node) in map.iter() {
            if out.text.len() > MAX_WRITTEN {
                out.is_cut = true;
                break;
            }
            if hidden.contains(member) || name == "patternProperties" && !self.is_pattern(member) {
                continue;
            }
            key(&mut out.text, member);
            self.schema(out, place.at(node), below);
        }
        out.text.push('}');
    }

    fn listed(&mut self, out: &mut Written, place: Place<'d>, name: &str, below: Context<'_>) {
        let items = place.node.list().unwrap_or_default();
        if items.is_empty() {
            return;
        }
        key(&mut out.text, name);
        out.text.push('[');
        for item in items {
            separate(&mut out.text);
            self.schema(out, place.at(item), below);
        }
        out.text.push(']');
    }

    /// The members that are not sent in this direction, by the schema or by a branch of its `allOf`.
    pub(super) fn collect_hidden<'n>(&self, place: Place<'d>, hidden: &mut HashSet<&'n str>)
    where
        'd: 'n,
    {
        let mut open = vec![place];
        let mut left = MAX_HIDDEN;
        let mut seen = HashSet::new();
        while let Some(place) = open.pop() {
            if !seen.insert(std::ptr::from_ref(place.node)) {
                continue;
            }
            for (name, node) in place.node.members_of("properties").take(left) {
                left -= 1;
                if self.is_hidden(place.at(node)) {
                    hidden.insert(name);
                }
            }
            for branch in place.node.items_of("allOf").iter().take(left) {
                left -= 1;
                let branch = place.at(branch);
                match branch.node.text_of("$ref") {
                    Some(reference) => open.extend(self.target(branch.document, reference).map(|(_, target)| target)),
                    None => open.push(branch),
                }
            }
        }
    }

    pub(super) fn is_hidden(&self, place: Place<'d>) -> bool {
        let flag = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        let is_flagged =
            |reference: &str| self.target(place.document, reference).is_ok_and(|(_, target)| target.node.is_true(flag));
        place.node.is_true(flag) || place.node.text_of("$ref").is_some_and(is_flagged)
    }

    fn is_pattern(&self, pattern: &str) -> bool {
        self.patterns.is_valid(pattern, self.notes)
    }
}

fn write_description(out: &mut String, description: Option<&str>) {
    if let Some(text) = description.map(str::trim).filter(|text| !text.is_empty()) {
        key(out, "description");
        proxy_json::push_quoted(out, &shortened(text, MAX_DESCRIPTION));
    }
}

fn write_stub(out: &mut String, description: Option<&str>) {
    out.push('{');
    let short = description.map(|text| shortened(text, MAX_STUB));
    write_description(out, short.as_deref());
    out.push('}');
}

fn write_types(out: &mut String, node: &Node, is_nullable: bool) {
    let mut found = types(node);
    if found.is_empty() {
        return;
    }
    if is_nullable && !found.contains(&"null") {
        found.push("null");
    }
    key(out, "type");
    match found.as_slice() {
        [one] => proxy_json::push_quoted(out, one),
        several => {
            out.push('[');
            for name in several {
                separate(out);
                proxy_json::push_quoted(out, name);
            }
            out.push(']');
        }
    }
}

fn write_enum(out: &mut String, node: &Node, is_nullable: bool) {
    let values = node.list().unwrap_or_default();
    if values.is_empty() || values.len() > MAX_VALUES {
        return;
    }
    key(out, "enum");
    out.push('[');
    for value in values {
        separate(out);
        value.write_json(out);
    }
    if is_nullable && !values.contains(&Node::Null) {
        out.push_str(",null");
    }
    out.push(']');
}

/// Writes a limit, or the exclusive one where OpenAPI 3.0 has a flag for that.
fn write_limit(out: &mut String, schema: &Node, name: &str, exclusive: &str) {
    let Some(limit @ Node::Number(_)) = schema.get(name) else { return };
    key(out, if schema.is_true(exclusive) { exclusive } else { name });
    limit.write_json(out);
}

fn write_required(out: &mut String, node: &Node, hidden: &HashSet<&str>) {
    let mut seen = HashSet::new();
    let mut names: Vec<&str> = Vec::new();
    for name in node.list().unwrap_or_default().iter().filter_map(Node::text) {
        if !hidden.contains(name) && seen.insert(name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return;
    }
    key(out, "required");
    out.push('[');
    for name in names {
        separate(out);
        proxy_json::push_quoted(out, name);
    }
    out.push(']');
}
