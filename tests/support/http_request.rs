//! An HTTP request written by hand, so that headers can be odd, repeated or missing.

use super::message::member;
use super::modern::{VERSION, modern_meta, with_meta};
use super::{message, modern};

#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
}

impl HttpRequest {
    /// A POST with the headers every MCP client sends.
    pub fn post(body: impl Into<Vec<u8>>) -> Self {
        let request = Self { method: "POST".to_owned(), headers: Vec::new(), body: Some(body.into()) };
        request.header("Content-Type", "application/json").header("Accept", "application/json, text/event-stream")
    }

    pub fn get() -> Self {
        Self { method: "GET".to_owned(), headers: Vec::new(), body: None }.header("Accept", "text/event-stream")
    }

    pub fn delete() -> Self {
        Self { method: "DELETE".to_owned(), headers: Vec::new(), body: None }
    }

    /// Any other method, without headers or body.
    pub fn bare(method: &str) -> Self {
        Self { method: method.to_owned(), headers: Vec::new(), body: None }
    }

    /// A complete modern request: `_meta` in the body, its headers beside it.
    pub fn modern(id: &str, method: &str, params: &str) -> Self {
        Self::modern_with_meta(id, method, params, &modern_meta())
    }

    /// The same from a client that declares these capabilities.
    pub fn modern_with(id: &str, method: &str, params: &str, capabilities: &str) -> Self {
        Self::modern_with_meta(id, method, params, &format!("{{{}}}", modern::meta_members(VERSION, capabilities)))
    }

    pub fn modern_with_meta(id: &str, method: &str, params: &str, meta: &str) -> Self {
        let request = Self::post(message::request(id, method, &with_meta(params, meta)))
            .header("MCP-Protocol-Version", VERSION)
            .header("Mcp-Method", method);
        let named_by = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return request,
        };
        match member(params, named_by).and_then(|raw| serde_json::from_str::<String>(&raw).ok()) {
            Some(name) => request.header("Mcp-Name", &modern::header_text(&name)),
            None => request,
        }
    }

    /// Adds a header, also one that is already there.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Gives a header another value.
    pub fn with(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub fn bytes(&self, host: &str, path: &str) -> Vec<u8> {
        let mut head = format!("{} {path} HTTP/1.1\r\n", self.method);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {host}\r\n");
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        // One connection per request: closing it must concern this request alone.
        head += "Connection: close\r\n\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend(self.body.as_deref().unwrap_or_default());
        bytes
    }
}
