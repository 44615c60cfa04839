//! What a session script knows about its surroundings: settings, the current user and client, and the request hook; and what
//! is recorded of its run.

pub(super) mod config;
pub(super) mod hook;
pub(super) mod other_hook;
pub(super) mod identity;
pub(super) mod provenance;
pub(super) mod settings;
pub(super) mod world;

pub(super) use world::World;
