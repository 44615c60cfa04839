//! Schemas of a description as JSON Schema 2020-12, for requests or for responses.

mod bundle;
mod converter;
mod keywords;
mod patterns;
mod shape;

pub(crate) use bundle::Definitions;
pub(crate) use converter::{Converter, Direction, Root, Written};
pub(crate) use keywords::{key, separate, shortened};
pub(crate) use patterns::Patterns;
pub(crate) use shape::Shape;
