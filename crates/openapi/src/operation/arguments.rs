//! The arguments of a tool: parameters and members of the body side by side, each under a name of its own.

use std::collections::{HashMap, HashSet};

use super::body::{BodyPlan, FoundBody, Media, body};
use super::collect::FoundOperation;
use super::parameter::{Parameter, ParameterPlace, Style, is_reserved_header, parameters};
use super::template::PathTemplate;
use crate::document::{Documents, Place};
use crate::schema::{Converter, Shape};

/// The name of the argument for a body that is not an object with known members.
const WHOLE: &str = "body";

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
        let schema = ArgumentSchema { schema: parameter.schema, description: parameter.description };
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
        self.add(name, true, target, ArgumentSchema { schema: None, description: None });
    }

    fn add_body(&mut self, found: &FoundBody<'d>, documents: &'d Documents, converter: &Converter<'d>) {
        let is_divided = matches!(found.media, Media::Json | Media::Form | Media::Multipart);
        let shape = if is_divided { found.schema.and_then(|schema| converter.shape(schema)) } else { None };
        let Some(Shape { members, required, others }) = shape else {
            self.body = Some(found.plan(documents, &[], false));
            let schema = ArgumentSchema { schema: found.schema, description: found.description };
            return self.add(WHOLE, found.required, Target::Body, schema);
        };
        self.body = Some(found.plan(documents, &members, others.is_some()));
        self.others = others;
        let required: HashSet<&str> = required.into_iter().collect();
        for (name, schema) in members {
            // If the body may be left out, so may its members.
            let is_required = found.required && required.contains(name);
            let schema = ArgumentSchema { schema: Some(schema), description: None };
            self.add(name, is_required, Target::Member(name.to_owned()), schema);
        }
    }

    /// Gives arguments that share a name a prefix each.
    fn name_apart(&mut self) {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for argument in &self.list {
            *counts.entry(argument.name.clone()).or_default() += 1;
        }
        let is_shared = |name: &str| counts.get(name).is_some_and(|count| *count > 1);
        let mut taken: HashSet<String> = counts.keys().filter(|name| !is_shared(name)).cloned().collect();
        for argument in self.list.iter_mut().filter(|argument| is_shared(&argument.name)) {
            let mut name = format!("{}_{}", argument.target.prefix(), argument.name);
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            argument.name = name;
        }
    }
}
