//! A message as it was on the wire, with views of its parts that keep every byte.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub raw: String,
}

impl Message {
    pub fn new(raw: impl Into<String>) -> Self {
        Self { raw: raw.into() }
    }

    /// A member of the envelope as raw text.
    pub fn member(&self, name: &str) -> Option<String> {
        member(&self.raw, name)
    }

    pub fn id(&self) -> Option<String> {
        self.member("id")
    }

    pub fn method(&self) -> Option<String> {
        serde_json::from_str(&self.member("method")?).ok()
    }

    pub fn params(&self) -> String {
        self.member("params").unwrap_or_default()
    }

    /// The raw result; fails on an error, showing it.
    pub fn result(&self) -> String {
        self.member("result").unwrap_or_else(|| panic!("expected a result, got {}", self.raw))
    }

    /// The structured content of a tool result, raw.
    pub fn structured(&self) -> String {
        member(&self.result(), "structuredContent").unwrap_or_else(|| panic!("no structured content in {}", self.raw))
    }

    /// The text of the first block of a tool result.
    pub fn text(&self) -> String {
        let result = self.value();
        let text = result["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {}", self.raw)).to_owned()
    }

    /// The names in a `tools/list` result.
    pub fn tool_names(&self) -> Vec<String> {
        let result = self.value();
        let tools = result["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools in {}", self.raw));
        tools.iter().map(|tool| tool["name"].as_str().unwrap_or("?").to_owned()).collect()
    }

    pub fn error_code(&self) -> i64 {
        let code = self.value()["error"]["code"].as_i64();
        code.unwrap_or_else(|| panic!("expected an error, got {}", self.raw))
    }

    pub fn error_message(&self) -> String {
        self.value()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The whole message, parsed. Numbers beyond the usual may change here; compare raw texts for those.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.raw).unwrap_or_else(|problem| panic!("not JSON ({problem}): {}", self.raw))
    }

    pub fn is_response(&self) -> bool {
        self.member("method").is_none()
    }
}

/// A member of a raw object as raw text.
pub fn member(raw: &str, name: &str) -> Option<String> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(raw).ok()?;
    members.remove(name).map(|raw| raw.get().to_owned())
}

/// A request as text, with every part raw.
pub fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// The params of a `tools/call`.
pub fn call(tool: &str, arguments: &str) -> String {
    format!(r#"{{"name":{},"arguments":{arguments}}}"#, Value::from(tool))
}

/// The params of an `initialize`.
pub fn initialize_params(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"test-client","version":"1.0.0"}}}}"#
    )
}
