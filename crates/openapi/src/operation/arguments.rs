//! The arguments of a tool: parameters and members of the body side by side, each under a name of its own.

use std::collections::{HashMap, HashSet};

use super::body::{BodyPlan, FoundBody, Media, body};
use super::collect::FoundOperation;
use super::parameter::{Parameter, ParameterPlace, Style, is_reserved_header, parameters};
use super::template::PathTemplate;
use crate::document::{Documents, Node, Place};
use crate::schema::{Converter, Shape};
use crate::unique_names::UniqueNames;

/// The name of the argument for a body that is not an object with known members.
const WHOLE: &str = "body";
/// What Anthropic's API takes as the name of an argument, besides letters and digits.
const MAX_NAME: usize = 64;
const MARKS: &str = "_.-";

#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) required: bool,
    pub(crate) target: Target,
}

/// Where an argument goes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Parameter {
        name: String,
        place: ParameterPlace,
        style: Style,
        explode: bool,
        allow_reserved: bool,
        is_json: bool,
    },
    /// A member of the body.
    Member(String),
    /// The whole body.
    Body,
}

impl Target {
    /// What distinguishes arguments of one name.
    fn prefix(&self) -> &'static str {
        match self {
            Target::Parameter { place, .. } => place.as_str(),
            Target::Member(_) | Target::Body => "body",
        }
    }
}

/// The schema of an argument in the description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgumentSchema<'d> {
    pub(crate) schema: Option<Place<'d>>,
    pub(crate) description: Option<&'d str>,
    /// The media type of a body that only its author can write: whatever the schema says, the argument is its text.
    pub(crate) text_of: Option<&'d str>,
}

/// The arguments of one operation. `schemas` belongs to `list`, item by item.
pub(crate) struct Arguments<'d> {
    pub(crate) list: Vec<Argument>,
    pub(crate) schemas: Vec<ArgumentSchema<'d>>,
    pub(crate) body: Option<BodyPlan>,
    /// The schema of arguments that are not named.
    pub(crate) others: Option<Place<'d>>,
}

impl<'d> Arguments<'d> {
    /// Fails if a part of the request is not known. `is_taken` tells which parameters the security schemes or the config set.
    pub(crate) fn of(
        operation: &FoundOperation<'d>,
        documents: &'d Documents,
        converter: &Converter<'d>,
        is_taken: &dyn Fn(ParameterPlace, &str) -> bool,
    ) -> Result<Self, String> {
        let mut arguments = Arguments { list: Vec::new(), schemas: Vec::new(), body: None, others: None };
        let template = PathTemplate::parse(operation.path);
        let mut undescribed: Vec<&str> = template.variables().collect();
        for parameter in parameters(documents, operation.item, operation.place)? {
            if parameter.place == ParameterPlace::Path {
                let is_used = undescribed.contains(&parameter.name);
                undescribed.retain(|name| *name != parameter.name);
                if !is_used {
                    continue;
                }
            }
            let is_reserved = parameter.place == ParameterPlace::Header && is_reserved_header(parameter.name);
            if !is_reserved && !is_taken(parameter.place, parameter.name) {
                arguments.add_parameter(parameter);
            }
        }
        for name in undescribed {
            arguments.add_variable(name);
        }
        if let Some(found) = body(documents, operation.place)? {
            arguments.add_body(&found, documents, converter);
        }
        arguments.name_apart();
        Ok(arguments)
    }

    fn add(&mut self, name: &str, required: bool, target: Target, schema: ArgumentSchema<'d>) {
        self.list.push(Argument { name: name.to_owned(), required, target });
        self.schemas.push(schema);
    }

    fn add_parameter(&mut self, parameter: Parameter<'d>) {
        let target = Target::Parameter {
            name: parameter.name.to_owned(),
            place: parameter.place,
            style: parameter.style,
            explode: parameter.explode,
            allow_reserved: parameter.allow_reserved,
            is_json: parameter.is_json,
        };
        let schema = ArgumentSchema { schema: parameter.schema, description: parameter.description, text_of: None };
        self.add(parameter.name, parameter.required, target, schema);
    }

    /// Adds a variable of the path that the description forgot.
    fn add_variable(&mut self, name: &str) {
        let target = Target::Parameter {
            name: name.to_owned(),
            place: ParameterPlace::Path,
            style: Style::Simple,
            explode: false,
            allow_reserved: false,
            is_json: false,
        };
        self.add(name, true, target, ArgumentSchema { schema: None, description: None, text_of: None });
    }

    fn add_body(&mut self, found: &FoundBody<'d>, documents: &'d Documents, converter: &Converter<'d>) {
        let is_divided = matches!(found.media, Media::Json | Media::Form | Media::Multipart);
        let shape = if is_divided { found.schema.and_then(|schema| converter.shape(schema)) } else { None };
        let Some(Shape { members, required, others }) = shape else {
            self.body = Some(found.plan(documents, &[], false));
            let is_text = found.media == Media::Text && !is_scalar(found.schema, documents);
            let text_of = if is_text { Some(found.content_type) } else { None };
            let schema = ArgumentSchema { schema: found.schema, description: found.description, text_of };
            return self.add(WHOLE, found.required, Target::Body, schema);
        };
        self.body = Some(found.plan(documents, &members, others.is_some()));
        self.others = others;
        let required: HashSet<&str> = required.into_iter().collect();
        for (name, schema) in members {
            // If the body may be left out, so may its members.
            let is_required = found.required && required.contains(name);
            let schema = ArgumentSchema { schema: Some(schema), description: None, text_of: None };
            self.add(name, is_required, Target::Member(name.to_owned()), schema);
        }
    }

    /// Gives each argument a name of its own that clients accept: a prefix to those that share one, and plain characters. Names
    /// that are right already stay.
    fn name_apart(&mut self) {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for argument in &self.list {
            *counts.entry(argument.name.clone()).or_default() += 1;
        }
        let is_right = |name: &str| counts.get(name).is_some_and(|count| *count == 1) && is_speakable(name);
        let mut names = UniqueNames::default();
        counts.keys().filter(|name| is_right(name)).for_each(|name| names.reserve(name));
        for argument in self.list.iter_mut().filter(|argument| !is_right(&argument.name)) {
            let is_shared = counts.get(&argument.name).is_some_and(|count| *count > 1);
            let prefix = argument.target.prefix();
            let mut name = speakable(&argument.name);
            if name.is_empty() {
                prefix.clone_into(&mut name);
            } else if is_shared {
                name = format!("{prefix}_{name}");
            }
            argument.name = names.unique(&name, MAX_NAME);
        }
    }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || MARKS.contains(character)
}

fn is_speakable(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

/// The plain characters of a name, with one `_` for all others between them: `page[size]` is `page_size`. What compares is
/// written out, because `StartTime<` and `StartTime>` are two arguments.
fn speakable(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for part in name.split_inclusive(|character| !is_plain(character)) {
        let word = part.trim_end_matches(|character| !is_plain(character));
        plain.push_str(word);
        let mark = match part.chars().next_back() {
            Some('<') => "_before_",
            Some('>') => "_after_",
            Some(other) if !is_plain(other) => "_",
            _ => "",
        };
        plain.push_str(if plain.ends_with('_') { mark.trim_start_matches('_') } else { mark });
    }
    let is_changed_at_end = !name.ends_with(is_plain);
    let is_changed_at_start = !name.starts_with(is_plain);
    let plain = if is_changed_at_end { plain.trim_end_matches('_') } else { &plain };
    if is_changed_at_start { plain.trim_start_matches('_').to_owned() } else { plain.to_owned() }
}

/// Whether a value is written as text in one way only: it is no object and no list.
fn is_scalar(schema: Option<Place<'_>>, documents: &Documents) -> bool {
    let schema = schema.and_then(|schema| documents.object(schema).ok());
    let kind = schema.and_then(|schema| schema.node.get("type"));
    let is_simple = |name: &Node| matches!(name.text(), Some("string" | "integer" | "number" | "boolean"));
    match kind {
        Some(Node::List(kinds)) => kinds.iter().all(is_simple),
        Some(kind) => is_simple(kind),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_clients_accept() {
        for (name, plain) in [
            ("$filter", "filter"),
            ("page[size]", "page_size"),
            ("ids[]", "ids"),
            ("StartTime<", "StartTime_before"),
            ("StartTime>", "StartTime_after"),
            ("filter[a][b]", "filter_a_b"),
            ("_id ", "_id"),
            ("@x-y.z_", "x-y.z_"),
            ("имя", ""),
            ("[]", ""),
        ] {
            assert_eq!(speakable(name), plain, "{name}");
        }
        assert!(is_speakable("x.y-z_1") && !is_speakable("") && !is_speakable(&"x".repeat(65)));
    }
}
