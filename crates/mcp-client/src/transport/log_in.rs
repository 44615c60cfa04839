//! The log-in (OAuth credentials) for a server, shared by all connections to it.

use std::sync::Arc;
use std::task::Poll;

use futures::future::BoxFuture;
use http::HeaderValue;
use tokio::sync::watch;

use super::error::TransportError;
use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};
use proxy_wire::http::HttpAnswer;

/// How often a request is repeated: once with a token that another process has renewed, and once with a token that this
/// process renews.
const MAX_REPETITIONS: usize = 2;

/// The credentials that the proxy presents to a server, and whether somebody has to log in.
#[derive(Debug)]
pub(crate) struct LogIn {
    server: Arc<str>,
    /// `None` if the server is a process, or if the config has its credentials.
    credentials: Option<Arc<dyn Credentials>>,
    /// Set when a request on any connection was refused and only a person can help.
    needed: watch::Sender<Option<LoginNeeded>>,
}

/// What to do after a refusal.
pub(super) enum AfterRefusal {
    /// The server has not read the request: it may be sent once more.
    SendAgain,
    Fail(TransportError),
}

impl LogIn {
    pub(crate) fn new(server: &Arc<str>, credentials: Option<Arc<dyn Credentials>>) -> Arc<Self> {
        Arc::new(LogIn { server: Arc::clone(server), credentials, needed: watch::Sender::default() })
    }

    pub(crate) fn has_credentials(&self) -> bool {
        self.credentials.is_some()
    }

    /// The value of `Authorization` for the next request.
    pub(crate) async fn authorization(&self) -> Result<Option<HeaderValue>, TransportError> {
        let Some(credentials) = &self.credentials else { return Ok(None) };
        let value = match credentials.ready() {
            Poll::Ready(value) => value,
            Poll::Pending => credentials.authorization().await.map_err(|needed| self.wait_for(needed))?,
        };
        Ok(value.map(|mut value| {
            value.set_sensitive(true);
            value
        }))
    }

    /// Decides what to do about a refused request that was sent with `shown`, after this many repetitions.
    pub(super) async fn refused(
        &self,
        answer: &HttpAnswer,
        shown: Option<HeaderValue>,
        repetitions: usize,
    ) -> AfterRefusal {
        let status = answer.status().as_u16();
        let Some(credentials) = &self.credentials else {
            return AfterRefusal::Fail(TransportError::unexpected(answer));
        };
        let challenges = answer.challenges();
        let refusal = AuthorizationRefusal { status, challenges, shown, is_repeated: repetitions > 0 };
        AfterRefusal::Fail(match credentials.refused(refusal).await {
            Remedy::Retry if repetitions < MAX_REPETITIONS => return AfterRefusal::SendAgain,
            Remedy::Retry => self.wait_for(LoginNeeded(format!(
                "it refuses the access token that was just renewed (HTTP {status}): run `proxy login {}`",
                self.server
            ))),
            Remedy::LogIn(needed) => self.wait_for(needed),
            Remedy::MoreScopes(text) => TransportError::Forbidden(text),
            Remedy::Later(text) => TransportError::NotRenewed(text),
            Remedy::None => TransportError::not_a_log_in(answer),
        })
    }

    fn wait_for(&self, needed: LoginNeeded) -> TransportError {
        self.look_out();
        self.needed.send_replace(Some(needed.clone()));
        TransportError::LoginNeeded(needed)
    }

    /// Watches from now on for a log-in by another process.
    fn look_out(&self) {
        if let Some(credentials) = &self.credentials {
            credentials.look_out();
        }
    }

    /// Completes when a request on any connection was refused and only a person can help.
    pub(crate) async fn needed(&self) -> LoginNeeded {
        let mut needed = self.needed.subscribe();
        match needed.wait_for(Option::is_some).await.map(|needed| needed.clone()) {
            Ok(Some(needed)) => needed,
            // Cannot happen: the sender lives as long as `self`.
            _ => std::future::pending().await,
        }
    }

    /// Forgets that a log-in was needed, before the next attempt.
    pub(crate) fn forget_need(&self) {
        self.needed.send_replace(None);
    }

    /// Completes when the log-in changes after this call.
    pub(crate) fn changed(&self) -> BoxFuture<'_, ()> {
        match &self.credentials {
            Some(credentials) => credentials.changed(),
            None => Box::pin(std::future::pending()),
        }
    }

    /// Completes when the log-in of this moment has ended, or when there is another one.
    pub(crate) fn replaced(&self) -> BoxFuture<'_, ()> {
        match &self.credentials {
            Some(credentials) => credentials.replaced(),
            None => Box::pin(std::future::pending()),
        }
    }

    /// Whether there are no credentials, so that another attempt after a refusal is pointless. If so, starts watching for a
    /// log-in.
    pub(crate) async fn is_missing(&self) -> bool {
        let Some(credentials) = &self.credentials else { return false };
        let is_missing = !matches!(credentials.authorization().await, Ok(Some(_)));
        if is_missing {
            credentials.look_out();
        }
        is_missing
    }
}
