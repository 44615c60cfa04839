//! JSON-RPC messages: the envelope is parsed, the bodies stay the bytes that arrived.

use std::fmt;

use serde::Deserialize;

use super::{Method, RpcError};
use proxy_json::{Raw, RawRef, too_deep};

/// A request id as its JSON token: `1` and `"1"` are different, and big numbers keep every digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// Accepts strings and integers, nothing else.
    pub fn parse(token: &str) -> Option<Self> {
        let token = token.trim();
        let digits = token.strip_prefix('-').unwrap_or(token);
        let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        (token.starts_with('"') || integer).then(|| Id(token.into()))
    }

    /// The number, or the string without its quotes.
    pub fn text(&self) -> String {
        serde_json::from_str(&self.0).unwrap_or_else(|_| self.0.to_string())
    }

    pub fn number(number: u64) -> Self {
        Id(number.to_string().into())
    }

    pub fn string(text: &str) -> Self {
        Id(proxy_json::quote(text).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number, if the id is one that fits 64 bits, as all ids of the proxy's own requests to servers do.
    pub fn as_number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[derive(Clone, Debug)]
pub struct Request {
    pub id: Id,
    /// The name of the method, as the client wrote it.
    pub method: String,
    /// What that name means.
    pub kind: Method,
    pub params: Option<Raw>,
}

impl Request {
    pub fn new(id: Id, method: String, params: Option<Raw>) -> Self {
        let kind = Method::parse(&method);
        Request { id, method, kind, params }
    }
}

#[derive(Clone, Debug)]
pub struct Notification {
    pub method: String,
    pub params: Option<Raw>,
}

#[derive(Clone, Debug)]
pub struct Response {
    /// Absent in an error response to a request whose id the peer could not read.
    pub id: Option<Id>,
    pub outcome: Result<Raw, RpcError>,
}

#[derive(Clone, Debug)]
pub enum Message {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

/// Why a text is not a message, with the id for the error response if one could be read.
#[derive(Debug)]
pub struct MessageError {
    pub id: Option<Id>,
    pub error: RpcError,
}

impl MessageError {
    fn invalid(id: Option<Id>, reason: &str) -> Self {
        MessageError { id, error: RpcError::invalid_request(reason) }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawRef>,
    // An id that is `null` differs from an absent id, so only the default gives `None`.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawRef>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawRef>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawRef>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawRef>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawRef>, D::Error> {
    <&RawRef>::deserialize(deserializer).map(Some)
}

impl Message {
    /// Parses one message, which may begin with a byte-order mark. Duplicate members of the envelope and deep nesting are refused.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let parse_error = |detail: String| MessageError { id: None, error: RpcError::new(super::code::PARSE, &detail) };
        let bytes = without_byte_order_mark(bytes);
        let text = std::str::from_utf8(bytes).map_err(|_| parse_error("parse error: not UTF-8".to_owned()))?;
        if too_deep(bytes) {
            return Err(MessageError::invalid(None, "nested too deeply"));
        }
        let envelope: Envelope<'_> = match serde_json::from_str(text) {
            Ok(envelope) => envelope,
            Err(error) if error.is_data() => {
                return Err(MessageError::invalid(None, &format!("not a JSON-RPC message: {error}")));
            }
            Err(error) => return Err(parse_error(format!("parse error: {error}"))),
        };
        envelope.into_message()
    }
}

impl Envelope<'_> {
    fn into_message(self) -> Result<Message, MessageError> {
        let id = self.id.and_then(|token| Id::parse(token.get()));
        if self.jsonrpc.map(RawRef::get) != Some("\"2.0\"") {
            return Err(MessageError::invalid(id, "`jsonrpc` must be \"2.0\""));
        }
        let is_response = self.result.is_some() || self.error.is_some();
        match self.method {
            Some(_) if is_response => Err(MessageError::invalid(id, "a message is a request or a response, not both")),
            Some(method) => {
                if let Some(params) = self.params
                    && !params.get().starts_with(['{', '['])
                {
                    return Err(MessageError::invalid(id, "`params` must be an object"));
                }
                let params = self.params.map(RawRef::to_owned);
                match (self.id, id) {
                    (None, _) => Ok(Message::Notification(Notification { method, params })),
                    (Some(_), Some(id)) => Ok(Message::Request(Request::new(id, method, params))),
                    (Some(_), None) => Err(MessageError::invalid(None, "`id` must be a string or an integer")),
                }
            }
            None => {
                let outcome = match (self.result, self.error) {
                    (Some(result), None) => Ok(result.to_owned()),
                    (None, Some(error)) => Err(RpcError::carried(error)),
                    (Some(_), Some(_)) => {
                        return Err(MessageError::invalid(id, "a response has a result or an error, not both"));
                    }
                    (None, None) => return Err(MessageError::invalid(id, "`method` is missing")),
                };
                Ok(Message::Response(Response { id, outcome }))
            }
        }
    }
}

/// Some programs write a byte-order mark before each message.
fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// The messages of a batch; `None` if the text is not an array.
pub fn batch(bytes: &[u8]) -> Option<Result<Vec<Raw>, MessageError>> {
    let bytes = without_byte_order_mark(bytes);
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if *first != b'[' {
        return None;
    }
    if too_deep(bytes) {
        return Some(Err(MessageError::invalid(None, "nested too deeply")));
    }
    Some(serde_json::from_slice(bytes).map_err(|error| MessageError {
        id: None,
        error: RpcError::new(super::code::PARSE, &format!("parse error: {error}")),
    }))
}

/// Encodes messages, each on one line, with their bodies unchanged.
pub mod encode {
    use std::fmt::{Display, Write};

    use super::{Id, RawRef, RpcError};
    use proxy_json::{one_line, push_quoted, quote};

    /// The id of a request: a number or any [`Id`].
    pub trait RequestId: Display {}

    impl RequestId for u64 {}

    impl RequestId for &Id {}

    pub fn request(id: impl RequestId, method: &str, params: Option<&str>) -> String {
        let params = params.unwrap_or("{}");
        let mut out = String::with_capacity(params.len() + method.len() + 64);
        out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
        // Writing to a `String` does not fail.
        let _ = write!(out, "{id}");
        out.push_str(",\"method\":");
        push_quoted(&mut out, method);
        out.push_str(",\"params\":");
        out.push_str(&one_line(params));
        out.push('}');
        out
    }

    pub fn notification(method: &str, params: Option<&str>) -> String {
        match params {
            Some(params) => {
                format!("{{\"jsonrpc\":\"2.0\",\"method\":{},\"params\":{}}}", quote(method), one_line(params))
            }
            None => format!("{{\"jsonrpc\":\"2.0\",\"method\":{}}}", quote(method)),
        }
    }

    pub fn result(id: &Id, result: &RawRef) -> String {
        let mut out = String::with_capacity(result.get().len() + 48);
        out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
        out.push_str(id.as_str());
        out.push_str(",\"result\":");
        out.push_str(&one_line(result.get()));
        out.push('}');
        out
    }

    /// An error response, without an id if the id of the request could not be read.
    pub fn error(id: Option<&Id>, error: &RpcError) -> String {
        let body = one_line(error.raw().get());
        match id {
            Some(id) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{body}}}"),
            None => format!("{{\"jsonrpc\":\"2.0\",\"error\":{body}}}"),
        }
    }

    /// An error response with a `null` id, as revisions before 2025-11-25 write it if the id could not be read.
    pub fn error_with_null_id(error: &RpcError) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}}", one_line(error.raw().get()))
    }

    /// The response to a request: its result or its error.
    pub fn outcome(id: &Id, outcome: &Result<proxy_json::Raw, RpcError>) -> String {
        match outcome {
            Ok(body) => result(id, body),
            Err(failure) => error(Some(id), failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> MessageError {
        Message::parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn ids_are_strings_or_integers_and_keep_their_digits() {
        for good in ["1", "-7", "9007199254740993", "\"1\"", "\"\""] {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{good},\"method\":\"ping\"}}");
            let Ok(Message::Request(request)) = Message::parse(text.as_bytes()) else { panic!("{good}") };
            assert_eq!(request.id.as_str(), good);
        }
        for bad in ["null", "1.5", "1e3", "true", "{}", "[1]"] {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{bad},\"method\":\"ping\"}}");
            assert_eq!(fault(&text).error.code(), super::super::code::INVALID_REQUEST, "{bad}");
        }
    }

    #[test]
    fn duplicate_members_of_the_envelope_are_refused() {
        let fault = fault(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}"#);
        assert_eq!(fault.error.code(), super::super::code::INVALID_REQUEST);
    }

    #[test]
    fn invalid_json_and_invalid_messages_have_different_codes() {
        assert_eq!(fault("{nope").error.code(), super::super::code::PARSE);
        assert_eq!(fault("7").error.code(), super::super::code::INVALID_REQUEST);
        assert_eq!(fault(r#"{"jsonrpc":"1.0","id":4,"method":"x"}"#).id, Id::parse("4"));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":4,"result":{},"error":{}}"#).id, Id::parse("4"));
    }

    #[test]
    fn a_byte_order_mark_before_a_message_is_ignored() {
        let text = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        assert!(matches!(Message::parse(text.as_bytes()), Ok(Message::Request(_))));
        let array = format!("\u{feff} [{}]", text.trim_start_matches('\u{feff}'));
        assert_eq!(batch(array.as_bytes()).unwrap().unwrap().len(), 1);
    }

    #[test]
    fn bodies_stay_the_bytes_that_arrived() {
        let text = r#"{"jsonrpc":"2.0","id":1,"result":{"b":1.10,"a":1e400,"s":"\ud800"}}"#;
        let Ok(Message::Response(response)) = Message::parse(text.as_bytes()) else { panic!() };
        assert_eq!(response.outcome.unwrap().get(), r#"{"b":1.10,"a":1e400,"s":"\ud800"}"#);
    }
}
