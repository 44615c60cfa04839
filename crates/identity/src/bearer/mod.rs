//! Verifies client tokens: JWTs of the configured issuers, and opaque tokens through introspection. The proxy is a resource
//! server: it issues no tokens, and never forwards a client's token.
//!
//! Only the signature check of `jsonwebtoken` is used. Its other checks are too lax by default (no `nbf`, no `crit`, `aud` and
//! `iss` only if present), and it accepts any kind of key for any algorithm.

mod claim_values;
mod claims;
mod error;
mod introspection;
mod issuer;
mod issuer_check;
mod jwt;
mod keys;
mod named_user;
mod notices;
mod introspection_queue;
mod resource;
mod token_cache;
mod user;
mod verifier;

pub use error::TokenError;
pub use introspection_queue::network;
pub use issuer_check::unreachable_issuers;
pub use named_user::{NoSuchUser, named_user, no_such_user};
pub use resource::Resource;
pub use verifier::{TokenVerifier, VerifiedToken};
