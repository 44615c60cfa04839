//! Access to the store, shared by the built-ins that use it.

use std::future::Future;
use std::time::Duration;

use proxy_model::Owner;
use proxy_script::{Host, NotedFact, ScriptError, Stop};
use proxy_store::{Outcome, Space, Store};

/// The outcome of an effect: a result, an error that a script can catch, or a stop of the handler.
type EffectOutcome<T> = Result<Result<T, String>, Stop>;

/// Runs an operation on the store; the handler waits for it.
pub(crate) fn with_store<T, F: Future<Output = Outcome<T>>>(
    host: &Host,
    operation: impl FnOnce(Store) -> F,
) -> EffectOutcome<T> {
    let Some(store) = host.store::<Store>() else { return Ok(Err("no store is available here".to_owned())) };
    let outcome = host.wait_for(operation(store.clone()))?;
    Ok(outcome.map_err(|error| error.to_string()))
}

/// The owner of the values that a handler stores: the authenticated user; without authentication the session; on standard
/// input and output the process; for an anonymous request without a session that request alone.
pub(crate) fn owner(host: &Host) -> Owner {
    host.scope.note(NotedFact::CallerRead);
    host.request().map_or(Owner::Process, |request| Owner::of_values(&request.principal, request.owner.as_ref()))
}

/// Whose values a script accesses.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    /// Those of the owner of the call, see [`owner`].
    Owner,
    Everybody,
}

/// The part of the store that holds this script's values in a scope.
pub(crate) fn space(host: &Host, scope: Scope) -> Space {
    let owner = match scope {
        Scope::Owner => owner(host),
        Scope::Everybody => Owner::Everybody,
    };
    Space::new(owner, host.namespace.clone())
}

/// Converts the argument `name`, a number of seconds, to a duration.
pub(crate) fn seconds(name: &str, value: f64) -> Result<Duration, ScriptError> {
    let duration =
        Some(value).filter(|seconds| *seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| ScriptError::new(format!("`{name}` must be a number of seconds above 0")))
}
