//! Discovery: what a server asks for, which authorization server it trusts, and that server's metadata.
//!
//! rmcp has a resolver too. It does not tell the `resource` that it found, which every later request has to repeat byte
//! for byte; it asks at places that must not be asked (the root document of an issuer with a path, the server itself); it
//! guesses endpoints; and one candidate with an error of its own ends the search.

mod challenge;
mod discover;
mod documents;
mod first_challenge;
mod probe;
mod resource_metadata;
#[cfg(test)]
mod tests;

pub use challenge::Challenge;
pub(super) use discover::{Discovered, Discovery};
pub(super) use first_challenge::first_challenge;
pub use probe::Probe;
