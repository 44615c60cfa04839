//! The credentials that the proxy sends to a server. Transports ask for them; `identity` provides them.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;

use futures::future::BoxFuture;
use http::HeaderValue;

use super::PersonKey;

/// The log-in at one server.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// The result of [`Credentials::authorization`], if it is available at once. Nearly every request takes this path, so it
    /// takes no lock and does not allocate.
    fn ready(&self) -> Poll<Option<HeaderValue>>;

    /// The value of `Authorization` for the next request, renewed if it is about to expire. `None` while there is no
    /// log-in: the server may want none, and what it answers says so.
    fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>>;

    /// The server has refused a request. Says what helps.
    fn refused(&self, refusal: AuthorizationRefusal) -> BoxFuture<'_, Remedy>;

    /// Only another log-in helps: one that another process makes is noticed from now on. Before that nothing has to be
    /// watched, since most servers want no log-in.
    fn look_out(&self);

    /// Completes when there is another log-in than at the time of this call, made by this process, or by
    /// another after [`Credentials::look_out`].
    fn changed(&self) -> BoxFuture<'_, ()>;

    /// Why there is no log-in that is good, for the person who was or wanted to be logged in; `None` if there was none.
    fn why_missing(&self) -> Option<String> {
        None
    }

    /// Completes when the log-in of this moment has ended, or when there is another one.
    fn replaced(&self) -> BoxFuture<'_, ()> {
        self.changed()
    }
}

/// The log-ins of all callers at one server, each with their own.
pub trait CallerCredentials: fmt::Debug + Send + Sync {
    /// What the connection of this person shows; `None` if the server is not for this person.
    fn of(&self, person: &PersonKey) -> Option<Arc<dyn Credentials>>;
}

/// A request that was refused for want of authorization: HTTP 401 or 403.
#[derive(Clone, Debug)]
pub struct AuthorizationRefusal {
    pub status: u16,
    /// The values of all `WWW-Authenticate` headers.
    pub challenges: Vec<String>,
    /// What the refused request has shown.
    pub shown: Option<HeaderValue>,
    /// Whether the request had been refused before, and was sent once more after [`Remedy::Retry`].
    pub is_repeated: bool,
}

/// What helps after a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The log-in was renewed: the request may be sent once more.
    Retry,
    /// A person has to log in.
    LogIn(LoginNeeded),
    /// The log-in is good and lacks permission for this request only. The text says what is lacking and what to run.
    MoreScopes(String),
    /// The renewal failed for now, such as for want of a network. The log-in is kept.
    Later(String),
    /// The server asks for something else than a log-in.
    None,
}

/// Nothing can be done before somebody has logged in. The text says why and what to run, but not at which server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoginNeeded(pub String);
