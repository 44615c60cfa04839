//! `backends()`: the servers and extensions behind the proxy, and their items as callable functions.

pub(super) mod backend;

pub(super) use backend::offered;
