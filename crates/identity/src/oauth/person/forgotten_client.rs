//! Clients that are no longer registered: the authorization server has forgotten them, or somebody wants new ones.

use crate::oauth::storage::{CredentialStorage, RecordKey};
use crate::oauth::terms::Registration;
use crate::oauth::{ClientKind, LogInError};

/// Whether an authorization server that answers with this error code does not know the client. With `unauthorized_client` it
/// knows the client, and refuses it this one request.
pub(crate) fn is_forgotten(code: &str) -> bool {
    code == "invalid_client"
}

/// Drops the client that was registered for a record, so that the next log-in registers another one. `only` is its id, if no
/// other client is meant: somebody may have registered one meanwhile. Returns whether there was one.
pub(crate) async fn drop_client(
    storage: &CredentialStorage,
    key: &RecordKey,
    only: Option<&str>,
) -> Result<bool, LogInError> {
    let lock = storage.lock(key).await?;
    let Some(mut record) = storage.read(key).await? else { return Ok(false) };
    let is_meant =
        |client: &Registration| client.kind == ClientKind::Registered && only.is_none_or(|id| client.client_id == id);
    if !record.registration.as_ref().is_some_and(is_meant) {
        return Ok(false);
    }
    record.registration = None;
    if record.says_nothing() {
        storage.delete(&lock, key).await?;
    } else {
        storage.write(&lock, key, &record).await?;
    }
    Ok(true)
}
