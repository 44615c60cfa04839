//! Verifies the tokens that clients show: JWTs of the issuers that the config names, and tokens that only their issuer can
//! read. The proxy is a resource server: it hands out no tokens, and a client's token goes nowhere else.
//!
//! Of `jsonwebtoken` only the check of a signature is used. What it checks beside that has defaults that let tokens pass
//! (no `nbf`, no `crit`, `aud` and `iss` only if they are there), and it takes keys of any kind for any algorithm.

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
mod question_queue;
mod resource;
mod token_cache;
mod user;
mod verifier;

pub use error::TokenError;
pub use issuer_check::unreachable_issuers;
pub use named_user::named_user;
pub use question_queue::network;
pub use resource::Resource;
pub use verifier::{TokenVerifier, VerifiedToken};
