//! The operations of a description, and how the arguments of their tools become parts of a request.

mod arguments;
mod body;
mod collect;
mod names;
mod parameter;
mod template;

pub(crate) use arguments::{Argument, Arguments, Target};
pub(crate) use body::{BodyPlan, Field, MAX_MEDIA_TYPES, Media, media_of};
pub(crate) use collect::{FoundOperation, operations};
pub(crate) use names::ToolNames;
pub(crate) use parameter::{ParameterPlace, Style};
pub(crate) use template::{PathTemplate, Piece};
