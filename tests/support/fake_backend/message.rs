//! Messages read from, and written to, the wire as text: nothing is parsed further than the server must understand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The envelope of one message. `serde` refuses a repeated member, which is what a strict server does.
#[derive(Debug, Deserialize)]
pub struct Envelope {
    pub id: Option<Box<RawValue>>,
    pub method: Option<String>,
    pub params: Option<Box<RawValue>>,
    pub result: Option<Box<RawValue>>,
    pub error: Option<Box<RawValue>>,
}

impl Envelope {
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// The members of a raw object by name; empty for anything else.
pub fn members(raw: Option<&RawValue>) -> BTreeMap<String, Box<RawValue>> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// A text as a JSON string token.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":{},"params":{params}}}"#, quoted(method))
}

pub fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, quoted(method))
}

/// Why a request is not served: a JSON-RPC error and the HTTP status that goes with it.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub code: i64,
    pub message: Cow<'static, str>,
    pub data: Option<String>,
}

impl Refusal {
    pub fn new(status: u16, code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }

    pub fn with_data(mut self, data: String) -> Self {
        self.data = Some(data);
        self
    }

    /// The error response; without a readable id the member is left out.
    pub fn response(&self, id: Option<&str>) -> String {
        let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
        let data = self.data.as_ref().map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
        let (code, message) = (self.code, quoted(&self.message));
        format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":{message}{data}}}}}"#)
    }
}
