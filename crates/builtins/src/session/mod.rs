//! What a session script knows about its environment (settings, the current user and client), its request hooks, and
//! the records of its run.

mod client_value;
pub(super) mod config;
pub(super) mod hook;
pub(super) mod profile;
pub(super) mod other_hook;
pub(super) mod identity;
pub(super) mod provenance;
pub(super) mod settings;
pub(super) mod world;

pub(super) use world::World;
