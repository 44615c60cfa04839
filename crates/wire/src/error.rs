//! JSON-RPC errors, forwarded as they arrived.

use std::fmt;

use serde::Deserialize;

use proxy_json::{self as json, Raw, RawRef};

/// The error codes that the proxy uses or interprets.
pub mod code {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// The user must visit a URL first; only session-based servers of 2025-11-25 send it.
    pub const URL_REQUIRED: i64 = -32042;
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

/// An error object. Only its code is parsed, so that the error of a server reaches the client unchanged.
#[derive(Clone, Debug)]
pub struct RpcError {
    code: i64,
    raw: Raw,
}

#[derive(Deserialize)]
struct ErrorMembers<'a> {
    #[serde(borrow)]
    code: &'a RawRef,
    message: String,
}

impl RpcError {
    pub fn new(code: i64, message: &str) -> Self {
        Self::build(code, message, None)
    }

    pub fn with_data(code: i64, message: &str, data: &serde_json::Value) -> Self {
        Self::build(code, message, Some(data))
    }

    fn build(code: i64, message: &str, data: Option<&serde_json::Value>) -> Self {
        let data = data.map(|data| ("data", json::raw(data)));
        let members = [("code", json::raw(&code)), ("message", json::raw(message))];
        RpcError { code, raw: json::object(members.into_iter().chain(data)) }
    }

    /// An error that a peer sent. An error without a code or a message becomes an internal error.
    pub fn carried(raw: &RawRef) -> Self {
        match serde_json::from_str::<ErrorMembers<'_>>(raw.get()) {
            // A code may be any integer; the proxy acts on none beyond 64 bits.
            Ok(members) => RpcError { code: members.code.get().parse().unwrap_or(0), raw: raw.to_owned() },
            Err(_) => RpcError::new(code::INTERNAL, "the server sent an error without `code` or `message`"),
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
        serde_json::from_str::<ErrorMembers<'_>>(self.raw.get()).map(|members| members.message).unwrap_or_default()
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
