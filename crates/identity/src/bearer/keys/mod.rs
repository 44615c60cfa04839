//! The keys of issuers: fetched, kept, and renewed.

mod issuer_keys;
mod key_fetch;
mod key_set;

pub(super) use issuer_keys::IssuerKeys;
pub(super) use key_fetch::{KeySource, fetch};
