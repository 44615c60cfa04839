//! Plain data that every layer speaks: what servers offer, who asks. No input or output, no Starlark.

mod backend;
mod definition;
mod principal;
mod result;
mod secret;

pub use backend::{BackendKind, BackendView, ItemRef, Lists, ServerInfo, Status};
pub use definition::{Definition, DefinitionError, ItemKind};
pub use principal::Principal;
pub use result::{error_result, shaped};
pub use secret::Secret;
