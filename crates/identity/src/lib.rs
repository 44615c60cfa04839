//! Authentication and authorization: verifies client tokens, evaluates policies, and logs in to servers. It knows OAuth, JSON
//! Web Tokens and Cedar. It never refuses a request by itself: `server` and `engine` ask it.

pub mod bearer;
pub mod cedar;
mod client_form;
pub mod oauth;

pub use oauth::IdentityKey;
