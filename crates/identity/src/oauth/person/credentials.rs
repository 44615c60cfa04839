//! The credentials of a server to which a person has logged in.

use std::sync::Arc;
use std::task::Poll;

use futures::future::{BoxFuture, FutureExt};
use http::HeaderValue;
use parking_lot::Mutex;

use super::follower::Follower;
use super::person_log_in::PersonLogIn;
use super::renewal::Renewal;
use crate::oauth::discovery::Challenge;
use crate::oauth::scopes;
use crate::oauth::subject::Subject;
use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};

#[derive(Debug)]
pub(crate) struct PersonCredentials {
    subject: Subject,
    log_in: Arc<PersonLogIn>,
    follower: Arc<Follower>,
    /// The token that has replaced a refused one.
    replacement: Mutex<Option<HeaderValue>>,
}

impl PersonCredentials {
    pub(crate) fn new(subject: Subject, log_in: Arc<PersonLogIn>, follower: Arc<Follower>) -> Self {
        PersonCredentials { subject, log_in, follower, replacement: Mutex::default() }
    }

    /// The header after everything that can be done about it here: read, renewed, or the old one if the renewal failed, so
    /// that the server decides.
    async fn prepared(&self) -> Result<Option<HeaderValue>, LoginNeeded> {
        if let Err(error) = self.log_in.load().await {
            return Err(LoginNeeded(error.to_string()));
        }
        // The person may have logged in just now, at another replica.
        if self.subject.who.is_some()
            && self.log_in.known().header.is_none()
            && let Err(error) = self.log_in.take_up().await
        {
            return Err(LoginNeeded(error.to_string()));
        }
        let known = Arc::clone(&self.log_in.known());
        if known.record.is_some() {
            self.follower.start();
        }
        if let Some(header) = known.fresh() {
            return Ok(Some(header.clone()));
        }
        if !known.is_renewable() {
            let record = known.record.as_ref();
            let ended = record.filter(|record| record.tokens.is_none()).and_then(|record| record.last_error.as_ref());
            return match ended {
                Some(reason) => Err(self.ended(reason)),
                // At everybody's account the server may want no log-in. A person's would show the account of nobody.
                None if known.header.is_none() && self.subject.who.is_some() => Err(self.not_yet()),
                None => Ok(known.header.clone()),
            };
        }
        match self.log_in.renew().await {
            Renewal::Refused(reason) => Err(self.ended(&reason)),
            Renewal::Renewed | Renewal::Failed(_) => Ok(self.log_in.known().header.clone()),
        }
    }

    fn not_yet(&self) -> LoginNeeded {
        LoginNeeded(format!("nobody has logged in for this person: {}", self.subject.advice()))
    }

    fn ended(&self, reason: &str) -> LoginNeeded {
        LoginNeeded(format!("the authorization has ended ({reason}): {}", self.subject.advice()))
    }

    fn needed(&self, challenge: Option<&Challenge>) -> Remedy {
        let scopes = challenge.map_or(&[][..], |challenge| &challenge.scopes);
        let scopes =
            if scopes.is_empty() { String::new() } else { format!(" with the scopes {}", scopes::shown(scopes)) };
        Remedy::LogIn(LoginNeeded(format!("it needs authorization{scopes}: {}", self.subject.advice())))
    }

    async fn remedy(&self, refusal: AuthorizationRefusal) -> Remedy {
        let challenge = Challenge::find(&refusal.challenges);
        match (refusal.status, &challenge, &refusal.shown) {
            (401, _, Some(shown)) => self.after_refused_token(shown, challenge.as_ref(), refusal.is_repeated).await,
            (401, Some(_), None) => self.after_nothing(challenge.as_ref()).await,
            (401, None, None) if self.subject.declared => self.after_nothing(None).await,
            (403, Some(found), Some(shown)) if found.is_insufficient_scope() => self.after_scopes(shown, found).await,
            (403, Some(found), None) if found.is_insufficient_scope() => self.after_nothing(challenge.as_ref()).await,
            _ => Remedy::None,
        }
    }

    /// Whether there is another token by now, from this process or another.
    async fn has_other(&self, shown: Option<&HeaderValue>) -> bool {
        let is_other = |header: Option<&HeaderValue>| header.is_some() && header != shown;
        if is_other(self.log_in.known().header.as_ref()) {
            return true;
        }
        if let Err(error) = self.log_in.take_up().await {
            tracing::warn!(server = %self.subject.name, "{error}");
        }
        is_other(self.log_in.known().header.as_ref())
    }

    async fn after_nothing(&self, challenge: Option<&Challenge>) -> Remedy {
        self.follower.start();
        if self.has_other(None).await { Remedy::Retry } else { self.needed(challenge) }
    }

    async fn after_refused_token(
        &self,
        shown: &HeaderValue,
        challenge: Option<&Challenge>,
        is_repeated: bool,
    ) -> Remedy {
        if self.has_other(Some(shown)).await {
            return Remedy::Retry;
        }
        // A request for which the token was renewed is refused with that one too: no other would help.
        let is_second = is_repeated && self.replacement.lock().as_ref() == Some(shown);
        if is_second || !self.log_in.known().is_renewable() {
            self.note_refused(shown).await;
            return self.needed(challenge);
        }
        match self.log_in.renew().await {
            Renewal::Renewed => {
                self.replacement.lock().clone_from(&self.log_in.known().header);
                Remedy::Retry
            }
            Renewal::Refused(reason) => Remedy::LogIn(self.ended(&reason)),
            Renewal::Failed(reason) => Remedy::Later(format!("the authorization cannot be renewed now: {reason}")),
        }
    }

    /// Notes that a token is of no use any more, so that `proxy login --list` in another process knows.
    async fn note_refused(&self, shown: &HeaderValue) {
        let noted = self.log_in.change(|record| {
            if let Some(tokens) = record.tokens.as_mut().filter(|tokens| tokens.header().as_ref() == Some(shown)) {
                tokens.refused = true;
            }
        });
        if let Err(error) = noted.await {
            tracing::warn!(server = %self.subject.name, "cannot record that an authorization has ended: {error}");
        }
    }

    /// Notes what is lacking, for the next log-in.
    async fn after_scopes(&self, shown: &HeaderValue, challenge: &Challenge) -> Remedy {
        if self.has_other(Some(shown)).await {
            return Remedy::Retry;
        }
        let noted = self.log_in.change(|record| scopes::add(&mut record.wanted_scopes, &challenge.scopes)).await;
        if let Err(error) = noted {
            tracing::warn!(server = %self.subject.name, "cannot record the scopes that the server asks for: {error}");
        }
        let what = match challenge.scopes.as_slice() {
            [] => "more permissions".to_owned(),
            scopes => scopes::shown(scopes),
        };
        Remedy::MoreScopes(format!("needs {what}: {}", self.subject.advice()))
    }
}

impl Credentials for PersonCredentials {
    fn ready(&self) -> Poll<Option<HeaderValue>> {
        let known = self.log_in.known();
        match known.fresh() {
            Some(header) => Poll::Ready(Some(header.clone())),
            None if known.is_none() && self.subject.who.is_none() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>> {
        self.prepared().boxed()
    }

    fn refused(&self, refusal: AuthorizationRefusal) -> BoxFuture<'_, Remedy> {
        self.remedy(refusal).boxed()
    }

    fn why_missing(&self) -> Option<String> {
        self.log_in.why_missing()
    }

    fn look_out(&self) {
        self.follower.look_out(&self.log_in);
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.log_in.changed().boxed()
    }

    fn replaced(&self) -> BoxFuture<'_, ()> {
        self.log_in.replaced().boxed()
    }
}
