//! Credentials that show nothing, to find out what a server asks for.

use std::task::Poll;

use futures::future::{BoxFuture, FutureExt, pending, ready};
use http::HeaderValue;
use parking_lot::Mutex;

use super::challenge::Challenge;
use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};

/// Shows no token and remembers the challenge.
#[derive(Debug, Default)]
pub struct Probe {
    challenge: Mutex<Option<Challenge>>,
}

impl Probe {
    /// What the server has asked for; `None` if it has not refused anything.
    pub fn challenge(&self) -> Option<Challenge> {
        self.challenge.lock().clone()
    }
}

impl Credentials for Probe {
    fn ready(&self) -> Poll<Option<HeaderValue>> {
        Poll::Ready(None)
    }

    fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>> {
        ready(Ok(None)).boxed()
    }

    fn refused(&self, refusal: AuthorizationRefusal) -> BoxFuture<'_, Remedy> {
        let challenge = Challenge::find(&refusal.challenges);
        let remedy = match (refusal.status, &challenge) {
            (401, _) | (403, Some(_)) => Remedy::LogIn(LoginNeeded("it needs authorization".to_owned())),
            _ => Remedy::None,
        };
        if remedy != Remedy::None {
            self.challenge.lock().get_or_insert(challenge.unwrap_or_default());
        }
        ready(remedy).boxed()
    }

    fn look_out(&self) {}

    fn changed(&self) -> BoxFuture<'_, ()> {
        pending().boxed()
    }
}
