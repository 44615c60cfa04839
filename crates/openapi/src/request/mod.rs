//! Makes an HTTP request of the arguments of a tool call.

mod build;
mod files;
mod form;
mod multipart;
mod path;
mod percent;
mod style;

pub use build::ApiRequest;
pub(crate) use build::{Plan, TakenNames, build};
