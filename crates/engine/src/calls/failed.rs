//! Failures of calls to an item: a tool failure becomes a result, because most models read results but not errors.

use serde_json::Value;

use proxy_json::Raw;
use proxy_mcp_client::CallError;
use proxy_model::{ItemKind, error_result};

/// A failure in the form that fits the kind of item. For a tool it is a result with `isError`, which a model reads.
pub fn failed(kind: ItemKind, message: String, data: Option<Value>) -> Result<Raw, CallError> {
    match kind {
        ItemKind::Tool => Ok(error_result(&message)),
        _ => Err(CallError::Failed { message, data }),
    }
}
