//! Servers with a separate connection and separate credentials for each person (token exchange). Such a server may list
//! different items for each person. Uses all other modules of this crate.

mod per_person_server;
mod person_server;

pub use per_person_server::PerPersonServer;
