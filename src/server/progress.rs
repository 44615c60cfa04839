//! Progress on its way to the client that asked for it.

use tokio::sync::mpsc;

use super::outlet::Outlet;
use crate::backend::Progress;
use crate::json::{Object, Raw, RawRef};
use crate::wire::{ClientMeta, Request, RpcError, encode, key};

/// The token under which the client wants progress, as it was written.
pub(super) fn progress_token(request: &Request) -> Result<Option<Raw>, RpcError> {
    let Some(params) = &request.params else { return Ok(None) };
    if memchr::memmem::find(params.get().as_bytes(), key::PROGRESS_TOKEN.as_bytes()).is_none() {
        return Ok(None);
    }
    let object = Object::parse(params.get()).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    Ok(ClientMeta::read(&object)?.progress_token)
}

/// Runs a call and passes its progress on, in order, all of it before the result.
pub(super) async fn with_progress<T>(
    call: impl Future<Output = T>,
    mut progress: mpsc::Receiver<Progress>,
    token: &RawRef,
    outlet: &Outlet,
) -> T {
    let mut call = std::pin::pin!(call);
    let mut last = f64::NEG_INFINITY;
    let outcome = loop {
        tokio::select! {
            biased;
            Some(params) = progress.recv() => pass_on(&params, token, &mut last, outlet).await,
            outcome = &mut call => break outcome,
        }
    };
    while let Ok(params) = progress.try_recv() {
        pass_on(&params, token, &mut last, outlet).await;
    }
    outcome
}

/// One progress notification under the client's own token. Values that do not increase are not passed on: the protocol
/// wants them to.
async fn pass_on(params: &RawRef, token: &RawRef, last: &mut f64, outlet: &Outlet) {
    let Ok(object) = Object::parse(params.get()) else { return };
    let value = object.get("progress").and_then(|value| value.get().parse::<f64>().ok());
    let Some(value) = value.filter(|value| *value > *last) else { return };
    *last = value;
    let params = object.edit().set(key::PROGRESS_TOKEN, token.get()).finish();
    outlet.send(encode::notification("notifications/progress", Some(&params))).await;
}
