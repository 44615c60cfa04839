//! Opens connections: starts or reaches a server, negotiates the protocol revision, lists items and sends calls in the
//! form that revision requires.

pub(crate) mod params;
pub(crate) mod cache;
pub(crate) mod established;
pub(crate) mod connector;
pub(crate) mod era_flapping;
pub(crate) mod handshake;
pub(crate) mod listing;
