//! Servers that everybody has a connection of their own to, with credentials of their own, and that may list something else
//! for each person. Uses all other modules of this crate.

mod per_person_server;
mod person_server;

pub use per_person_server::PerPersonServer;
