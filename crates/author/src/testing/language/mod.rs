//! The module `testing`: the functions and values that test files use.

mod assertions;
mod backends;
mod client_folders;
mod diff;
mod globals;
mod mocks;
mod session;
mod session_value;

pub use globals::{globals, types};
