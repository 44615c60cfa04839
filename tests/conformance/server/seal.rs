//! State that a client carries for the server and cannot change unnoticed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// Nothing is at stake here; a server with something to lose makes its key up at random.
const KEY: &[u8] = b"the key of a test server";

pub fn close<T: Serialize>(state: &T) -> Result<String, ErrorData> {
    let payload = serde_json::to_vec(state).map_err(|problem| ErrorData::internal_error(problem.to_string(), None))?;
    Ok(format!("{}.{}", URL_SAFE_NO_PAD.encode(&payload), tag(&payload)))
}

pub fn open<T: DeserializeOwned>(sealed: &str) -> Result<T, ErrorData> {
    let forged = || ErrorData::invalid_params("requestState is not what this server gave out", None);
    let (payload, found) = sealed.split_once('.').ok_or_else(forged)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| forged())?;
    if found != tag(&payload) {
        return Err(forged());
    }
    serde_json::from_slice(&payload).map_err(|_| forged())
}

/// The key goes in twice, so that a tag says nothing about the tags of longer texts.
fn tag(payload: &[u8]) -> String {
    let inner = Sha256::new().chain_update(KEY).chain_update(payload).finalize();
    URL_SAFE_NO_PAD.encode(Sha256::new().chain_update(KEY).chain_update(inner).finalize())
}
