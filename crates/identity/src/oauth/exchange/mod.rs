//! Conversations with an authorization server. rmcp makes the requests and reads the responses; what it would send or show
//! otherwise than it should is changed on the way.

mod oauth_exchange;
mod rewrite;

pub(super) use oauth_exchange::{ExchangeError, OAuthExchange};
pub(super) use rewrite::Rewrite;
