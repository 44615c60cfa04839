//! What a step changes in a tool, with the place in its schema.

use serde_json::{Map, Value};

/// The steps that make a tool acceptable to a client, in the order in which they are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Refs,
    Const,
    Types,
    RootUnion,
    Items,
    Properties,
    Keywords,
    Enums,
    PropertyNames,
    Name,
    Description,
}

impl Step {
    pub const ALL: [Step; 11] = [
        Step::Refs,
        Step::Const,
        Step::Types,
        Step::RootUnion,
        Step::Items,
        Step::Properties,
        Step::Keywords,
        Step::Enums,
        Step::PropertyNames,
        Step::Name,
        Step::Description,
    ];

    /// The steps that change schemas. The limits of a row decide about the others.
    pub const OF_SCHEMAS: [(&'static str, Step); 9] = [
        ("refs", Step::Refs),
        ("const", Step::Const),
        ("types", Step::Types),
        ("root-union", Step::RootUnion),
        ("items", Step::Items),
        ("properties", Step::Properties),
        ("keywords", Step::Keywords),
        ("enums", Step::Enums),
        ("property-names", Step::PropertyNames),
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Step::Name => "name",
            Step::Description => "description",
            _ => Step::OF_SCHEMAS.iter().find(|(_, step)| *step == self).map_or("", |(name, _)| name),
        }
    }
}

/// One thing that a step changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub step: Step,
    /// The JSON pointer to the changed part of the input schema, as the step found it; empty for the schema itself and
    /// for what is not in the schema.
    pub pointer: String,
    pub what: String,
    /// Whether the tool as listed allows arguments that the published schema does not.
    pub takes_constraint: bool,
}

/// How many changes of a tool are kept with their places. The rest is counted.
const MAX_CHANGES: usize = 100;
/// The length of a constraint that is told in a description.
const MAX_NOTE: usize = 80;

/// Collects the changes of one tool while the steps are taken.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) step: Step,
    pub(crate) list: Vec<Change>,
    pub(crate) takes_constraint: bool,
    /// What the description of the tool has to tell about its arguments.
    pub(crate) notes: Vec<String>,
    count: usize,
}

impl Changes {
    pub(crate) fn new() -> Self {
        Changes { step: Step::Refs, list: Vec::new(), takes_constraint: false, notes: Vec::new(), count: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The changes, with one entry for those that were only counted.
    pub(crate) fn finish(mut self) -> Vec<Change> {
        let omitted = self.count - self.list.len();
        if omitted > 0 {
            let what = format!("{omitted} more changes");
            self.list.push(Change { step: self.step, pointer: String::new(), what, takes_constraint: false });
        }
        self.list
    }

    /// Notes a change after which the schema allows nothing that it did not allow before.
    pub(crate) fn note(&mut self, at: &Path<'_>, what: impl FnOnce() -> String) {
        self.add(at, false, what);
    }

    /// Notes a constraint that the node loses, and tells it in the node's description: models keep to what they read.
    pub(crate) fn take(&mut self, node: &mut Map<String, Value>, at: &Path<'_>, constraint: &str) {
        let constraint = brief(constraint, MAX_NOTE);
        self.takes_constraint = true;
        self.add(at, true, || format!("takes `{constraint}`"));
        if at.is_root() {
            self.notes.push(constraint);
            return;
        }
        match node.get_mut("description") {
            // Thousands of constraints would make a description that no client takes.
            Some(Value::String(text)) if text.len() < 16 << 10 => {
                if !text.is_empty() {
                    text.push_str(". ");
                }
                text.push_str(&constraint);
            }
            Some(Value::String(_)) => {}
            _ => drop(node.insert("description".to_owned(), constraint.into())),
        }
    }

    /// Notes a constraint that the whole tool loses, to be told with a text of its own.
    pub(crate) fn take_from_tool(&mut self, what: &str, told: String) {
        self.takes_constraint = true;
        self.add(&Path::ROOT, true, || what.to_owned());
        self.notes.push(told);
    }

    fn add(&mut self, at: &Path<'_>, takes_constraint: bool, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.list.len() < MAX_CHANGES {
            self.list.push(Change { step: self.step, pointer: at.pointer(), what: what(), takes_constraint });
        }
    }
}

/// The beginning of a text.
pub(crate) fn brief(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(max - 3).collect();
    beginning + "..."
}

/// A place in a schema, as a list from the inside out that lives on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    key: Key<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Key<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path { parent: None, key: Key::Index(0) };

    pub(crate) fn name<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path { parent: Some(self), key: Key::Name(name) }
    }

    pub(crate) fn index<'b>(&'b self, index: usize) -> Path<'b> {
        Path { parent: Some(self), key: Key::Index(index) }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// The last name of the path; `None` for an index and for the root.
    pub(crate) fn last_name(&self) -> Option<&'a str> {
        match (self.parent, self.key) {
            (Some(_), Key::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn pointer(&self) -> String {
        let mut keys = Vec::new();
        let mut at = self;
        while let Some(parent) = at.parent {
            keys.push(at.key);
            at = parent;
        }
        let mut pointer = String::new();
        for key in keys.into_iter().rev() {
            pointer.push('/');
            match key {
                Key::Name(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
                Key::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }
}
