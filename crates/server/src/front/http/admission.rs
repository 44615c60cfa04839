//! Who sends a request: asked once, before its body is read, and carried to its handler.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ::http::header::{ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN};
use ::http::header::{ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use futures::FutureExt;
use tokio::sync::mpsc;

use super::HttpFront;
use super::challenges::{Challenges, host, no_profile, too_many_failures};
use super::refused_tokens::Slowdown;
use crate::front::authenticator::{AuthFailure, Caller, FirstLook};
use proxy_identity::bearer::TokenVerifier;
use proxy_wire::http::{Admission, Frames, HttpReply};

/// The longest sleep at once: the clock by which tokens expire may be set meanwhile.
const MAX_SLEEP: Duration = Duration::from_secs(60);

pub(super) fn admission(
    front: &Arc<HttpFront>,
    named: &str,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Admission<Caller> {
    let authenticator = front.authenticator.borrow();
    let Some(place) = authenticator.place(named) else {
        let reply = no_profile(named);
        return Admission::Later(async move { Err(reply) }.boxed());
    };
    let look = authenticator.look(headers, &place);
    drop(authenticator);
    let challenges = || Challenges::new(&front.authenticator.borrow(), &front.resource, headers, named);
    match look {
        FirstLook::Done(Ok(caller)) => Admission::Admitted(caller),
        FirstLook::Done(Err(failure)) => {
            let (front, challenges) = (Arc::clone(front), challenges());
            // Nobody guesses a signed token, tokens expire every hour, and a client learns only from the challenge that it
            // needs a new one. Behind a reverse proxy all clients have one address.
            let can_guess = front.authenticator.borrow().verifier.is_none();
            Admission::Later(async move { Err(refused(&front, &failure, &challenges, peer, can_guess).await) }.boxed())
        }
        FirstLook::Verify(verifier, token) => {
            let (front, challenges) = (Arc::clone(front), challenges());
            let verification = async move {
                let verified = verifier.verify(token.reveal(), peer).await.map_err(AuthFailure::from);
                let caller = verified.and_then(|verified| {
                    front.authenticator.borrow().verified(&verifier, token.reveal(), &verified, &place)
                });
                match caller {
                    Ok(caller) => Ok(caller),
                    Err(failure) => {
                        let can_guess = TokenVerifier::is_opaque(token.reveal());
                        Err(refused(&front, &failure, &challenges, peer, can_guess).await)
                    }
                }
            };
            Admission::Later(verification.boxed())
        }
    }
}

/// The answer to a request that is not admitted. Wrong tokens are counted, and answered slowly if one can guess them.
async fn refused(
    front: &HttpFront,
    failure: &AuthFailure,
    challenges: &Challenges,
    peer: Option<IpAddr>,
    can_guess: bool,
) -> HttpReply {
    let is_failure = match failure {
        AuthFailure::NoToken => front.authenticator.borrow().verifier.is_none(),
        AuthFailure::Malformed(_) | AuthFailure::Invalid(_) => true,
        AuthFailure::LacksRequiredScope | AuthFailure::NoProfile | AuthFailure::Unavailable(_) => false,
    };
    if is_failure {
        let slowdown = match can_guess {
            true => front.refused_tokens.count(peer),
            false => front.refused_tokens.note(peer),
        };
        match slowdown {
            Slowdown::TooMany(wait) => return too_many_failures(wait),
            Slowdown::Delay(delay) if !delay.is_zero() => tokio::time::sleep(delay).await,
            Slowdown::Delay(_) => {}
        }
    }
    if let AuthFailure::Invalid(why) = failure {
        tracing::debug!("refused a token: {why}");
    }
    challenges.reply(failure)
}

/// The metadata of the protected resource, if that is what a path is for. Needs no token, and every page may read it.
pub(super) fn metadata(front: &HttpFront, method: &Method, path: &str, headers: &HeaderMap) -> Option<HttpReply> {
    let profile = front.resource.metadata_of(path)?;
    let authenticator = front.authenticator.borrow();
    authenticator.verifier.as_ref()?;
    if !profile.is_empty() && authenticator.place(profile).is_none() {
        return None;
    }
    let reply = match *method {
        Method::GET => {
            let scopes = authenticator.required_scopes(profile);
            let document = front.resource.metadata(host(headers), &authenticator.authentication, profile, &scopes);
            HttpReply::json(StatusCode::OK, document.to_string())
        }
        Method::OPTIONS => {
            let mut reply = HttpReply::empty(StatusCode::NO_CONTENT)
                .with_header(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, OPTIONS"))
                .with_header(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            if let Some(requested) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
                reply = reply.with_header(ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
            }
            reply
        }
        _ => HttpReply::empty(StatusCode::METHOD_NOT_ALLOWED)
            .with_header(ALLOW, HeaderValue::from_static("GET, OPTIONS")),
    };
    Some(reply.with_header(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")))
}

/// Waits until the caller's token has expired, or is judged by other rules, or the caller's profile was removed.
pub(super) async fn revoked(front: &HttpFront, caller: &Caller) {
    let mut authenticator = front.authenticator.subscribe();
    let changed = async {
        // Cannot fail: the front owns the sender.
        let _ = authenticator.wait_for(|authenticator| !authenticator.still_accepts(caller)).await;
    };
    tokio::select! {
        () = changed => {}
        () = expired(caller.expires) => {}
    }
}

/// The frames of a stream that has no end of its own, until the caller's token no longer counts.
pub(super) fn until_revoked(front: &Arc<HttpFront>, mut frames: Frames, caller: &Caller) -> Frames {
    if caller.expires.is_none() && caller.verifier.is_none() && caller.principal.profile().is_none() {
        return frames;
    }
    let (sender, receiver) = mpsc::channel(1);
    let (front, caller) = (Arc::clone(front), caller.clone());
    tokio::spawn(async move {
        let forwarded = async {
            while let Some(frame) = frames.recv().await {
                if sender.send(frame).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = forwarded => {}
            () = sender.closed() => {}
            () = revoked(&front, &caller) => {}
        }
    });
    receiver
}

async fn expired(expires: Option<SystemTime>) {
    let Some(expires) = expires else { return std::future::pending().await };
    while let Ok(left) = expires.duration_since(SystemTime::now()) {
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(MAX_SLEEP)).await;
    }
}
