//! Requests to an authorization server, and how its responses are read.

mod oauth_exchange;
mod token_response;

pub(super) use oauth_exchange::{ExchangeError, OAuthExchange};
pub(super) use token_response::normalized;
