//! Servers with a separate connection and separate credentials for each person: token exchange, signed identities, and
//! accounts of people. Such a server may list different items for each person. Uses all other modules of this crate.

mod account;
mod account_call;
mod log_in_tool;
mod per_person_server;
mod person_server;

pub use per_person_server::PerPersonServer;
