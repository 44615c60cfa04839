//! Who calls and what they may use: client tokens, policies, and log-ins to servers. It knows OAuth, JSON Web Tokens and
//! Cedar. It refuses no request by itself: `server` and `engine` ask it.

pub mod bearer;
pub mod cedar;
pub mod oauth;
