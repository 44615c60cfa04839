//! Code mode: presents tools as typed functions, and runs models' scripts that call them, each in its own sandboxed
//! process. It knows Starlark, schemas and processes. It does not call tools itself: the caller serves a script's
//! requests.

pub mod sandbox;
pub mod typings;
