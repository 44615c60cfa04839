//! What the built-ins that use the store have in common.

use std::future::Future;
use std::time::Duration;

use crate::model::{Owner, Principal};
use crate::script::{Host, ScriptError, Stop};
use crate::store::{Holder, Outcome, Space, Store};

/// What an effect ends in: a result, an error that a script can catch, or a stop.
pub(super) type Ended<T> = Result<Result<T, String>, Stop>;

/// Does something with the store; the handler waits.
pub(super) fn with_store<T, F: Future<Output = Outcome<T>>>(host: &Host, act: impl FnOnce(Store) -> F) -> Ended<T> {
    let Some(store) = host.store() else { return Ok(Err("there is no store here".to_owned())) };
    let outcome = host.wait_for(act(store.clone()))?;
    Ok(outcome.map_err(|error| error.to_string()))
}

/// To whom what a handler remembers belongs: the authenticated person; without authentication the session; on standard
/// input and output the process; for an anonymous request without a session that request alone.
pub(super) fn holder(host: &Host) -> Holder {
    host.request().map_or(THIS_PROCESS, |request| holder_of(&request.principal, request.owner.as_ref()))
}

/// The same for whoever made a request.
pub fn holder_of(principal: &Principal, owner: Option<&Owner>) -> Holder {
    if principal.local {
        return THIS_PROCESS;
    }
    if !principal.anonymous {
        return Holder::Person(principal.sub.clone());
    }
    match owner {
        None => THIS_PROCESS,
        Some(Owner::Person(sub)) => Holder::Person(sub.clone()),
        Some(Owner::Session(number)) => Holder::Session(*number),
        Some(Owner::Request(number)) => Holder::Request(*number),
    }
}

/// Sessions are counted from 1.
const THIS_PROCESS: Holder = Holder::Session(0);

/// The values of this script: those of the owner, or those that everybody shares.
pub(super) fn space(host: &Host, shared: bool) -> Space {
    let holder = if shared { Holder::Everybody } else { holder(host) };
    Space::new(holder, host.namespace.clone())
}

/// A duration that a script gave in seconds.
pub(super) fn seconds(name: &str, given: f64) -> Result<Duration, ScriptError> {
    let duration =
        Some(given).filter(|seconds| *seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| ScriptError::new(format!("`{name}` must be a number of seconds above 0")))
}
