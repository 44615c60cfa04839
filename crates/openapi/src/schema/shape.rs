//! The members of an object schema, so that they can be arguments of their own.

use std::collections::{HashMap, HashSet};

use super::converter::Converter;
use crate::document::{Node, Place};

/// How many schemas are looked at.
const MAX_SCHEMAS: usize = 200;
/// A body with more members stays one argument.
const MAX_MEMBERS: usize = 1000;

/// An object with members that are known.
#[derive(Debug, Default)]
pub(crate) struct Shape<'d> {
    pub(crate) members: Vec<(&'d str, Place<'d>)>,
    pub(crate) required: Vec<&'d str>,
    /// The schema of other members; `None` if there should be none.
    pub(crate) others: Option<Place<'d>>,
}

/// A shape that is being put together.
#[derive(Default)]
struct Gathering<'d> {
    shape: Shape<'d>,
    positions: HashMap<&'d str, usize>,
    required: HashSet<&'d str>,
    schemas: usize,
}

impl<'d> Converter<'d> {
    /// The members of a schema that describes an object and nothing else; `None` for unions, lists, and objects without
    /// known members.
    pub(crate) fn shape(&self, place: Place<'d>) -> Option<Shape<'d>> {
        let mut gathering = Gathering::default();
        self.gather(&mut gathering, place)?;
        let mut hidden = HashSet::new();
        self.collect_hidden(self.behind_reference(place)?, &mut hidden);
        let mut shape = gathering.shape;
        shape.members.retain(|(name, _)| !hidden.contains(name));
        shape.required.retain(|name| !hidden.contains(name));
        if shape.members.is_empty() { None } else { Some(shape) }
    }

    fn behind_reference(&self, place: Place<'d>) -> Option<Place<'d>> {
        match place.node.text_of("$ref") {
            Some(reference) => self.target(place.document, reference).ok().map(|(_, target)| target),
            None => Some(place),
        }
    }

    fn gather(&self, gathering: &mut Gathering<'d>, place: Place<'d>) -> Option<()> {
        gathering.schemas += 1;
        if gathering.schemas > MAX_SCHEMAS {
            return None;
        }
        let node = place.node;
        if node.text_of("$ref").is_some() {
            self.gather(gathering, self.behind_reference(place)?)?;
            if self.ignores_siblings() {
                return Some(());
            }
        }
        if !is_object(node) {
            return None;
        }
        for branch in node.items_of("allOf") {
            self.gather(gathering, place.at(branch))?;
        }
        let Gathering { shape, positions, required, .. } = gathering;
        for (name, member) in node.members_of("properties") {
            match positions.get(name) {
                Some(at) => shape.members[*at].1 = place.at(member),
                None => {
                    positions.insert(name, shape.members.len());
                    shape.members.push((name, place.at(member)));
                }
            }
            if shape.members.len() > MAX_MEMBERS {
                return None;
            }
        }
        for name in node.items_of("required").iter().filter_map(Node::text) {
            if required.insert(name) {
                shape.required.push(name);
            }
        }
        if let Some(others @ (Node::Bool(true) | Node::Map(_))) = node.get("additionalProperties") {
            shape.others = Some(place.at(others));
        }
        Some(())
    }
}

/// Whether a schema says nothing but what members an object has.
fn is_object(node: &Node) -> bool {
    let is_union = ["oneOf", "anyOf"].iter().any(|keyword| !node.items_of(keyword).iter().all(only_requires));
    let allows_object = match node.get("type") {
        None => true,
        Some(Node::Text(name)) => **name == *"object",
        Some(Node::List(names)) => names.iter().all(|name| matches!(name.text(), Some("object" | "null"))),
        Some(_) => false,
    };
    let is_more = ["patternProperties", "if", "not", "enum", "const"].iter().any(|keyword| node.get(keyword).is_some());
    node.map().is_some() && allows_object && !is_union && !is_more
}

/// Whether a branch only says which members are required together. The API checks that.
fn only_requires(branch: &Node) -> bool {
    branch.map().is_some_and(|map| map.keys().all(|keyword| keyword == "required"))
}
