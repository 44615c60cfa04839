//! JSON-RPC errors, carried as they came.

use std::fmt;

use serde::Deserialize;

use crate::json::{self, Raw, RawRef};

/// The codes the proxy itself uses or understands.
pub mod code {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A person must first visit an address; session-based servers of 2025-11-25 only.
    pub const URL_REQUIRED: i64 = -32042;
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

/// An error object: its code read, the rest kept raw, so that a backend's error reaches the client unchanged.
#[derive(Clone, Debug)]
pub struct RpcError {
    code: i64,
    raw: Raw,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    code: &'a RawRef,
    message: String,
}

impl RpcError {
    pub fn new(code: i64, message: &str) -> Self {
        Self::build(code, message, None)
    }

    pub fn with_data(code: i64, message: &str, data: &serde_json::Value) -> Self {
        Self::build(code, message, Some(data.to_string()))
    }

    fn build(code: i64, message: &str, data: Option<String>) -> Self {
        let data = data.map(|data| format!(",\"data\":{data}")).unwrap_or_default();
        let text = format!("{{\"code\":{code},\"message\":{}{data}}}", json::quote(message));
        RpcError { code, raw: json::valid(text).unwrap_or_else(|_| RawRef::NULL.to_owned()) }
    }

    /// Reads an error a peer sent. One that has no code or message is answered for as an internal error.
    pub fn carried(raw: &RawRef) -> Self {
        match serde_json::from_str::<Head<'_>>(raw.get()) {
            // A code may be any integer; one beyond 64 bits is nobody's code that we would act on.
            Ok(head) => RpcError { code: head.code.get().parse().unwrap_or(0), raw: raw.to_owned() },
            Err(_) => RpcError::new(code::INTERNAL, "the server sent an error without code and message"),
        }
    }

    pub fn invalid_request(message: &str) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    pub fn invalid_params(message: &str) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, &format!("method not found: {method}"))
    }

    pub fn internal(message: &str) -> Self {
        Self::new(code::INTERNAL, message)
    }

    pub fn code(&self) -> i64 {
        self.code
    }

    pub fn raw(&self) -> &RawRef {
        &self.raw
    }

    pub fn message(&self) -> String {
        serde_json::from_str::<Head<'_>>(self.raw.get()).map(|head| head.message).unwrap_or_default()
    }

    pub fn data(&self) -> Option<serde_json::Value> {
        let value: serde_json::Value = serde_json::from_str(self.raw.get()).ok()?;
        value.get("data").cloned()
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message(), self.code)
    }
}
