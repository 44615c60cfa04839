//! Plain data that every layer speaks: what servers offer, who asks. No input or output, no Starlark.

mod abilities;
mod backend;
mod definition;
mod form;
mod method;
mod owner;
mod principal;
mod request;
mod result;
mod secret;
mod template;
mod visitor;

pub use abilities::Abilities;
pub use backend::{BackendKind, BackendView, ItemRef, Lists, ServerInfo, Status};
pub use definition::{Definition, DefinitionError, ItemKind};
pub use form::{checked_answer, checked_form};
pub use method::{MethodPattern, is_protocol_method};
pub use owner::Owner;
pub use principal::Principal;
pub use request::{ClientInfo, Request};
pub use result::{error_result, shaped, shaped_contents, shaped_messages};
pub use secret::Secret;
pub use template::UriTemplate;
pub use visitor::{Visitor, VisitorKey};
