//! A server's lists: those of its main connection, and the variants for clients with other abilities or of another era.

pub(crate) mod ability_sets;
pub(crate) mod current_lists;
pub(crate) mod follow_variant;
pub(crate) mod followed_lists;
pub(crate) mod freshness;
pub(crate) mod relisting;
pub(crate) mod variants;
