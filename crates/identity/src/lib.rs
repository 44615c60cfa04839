//! Who calls and what they may use: client tokens, policies, and log-ins to servers. It knows OAuth, JSON Web Tokens and
//! Cedar. It refuses no request by itself: the engine asks it where a request is admitted.

pub mod bearer;
pub mod cedar;
pub mod oauth;
