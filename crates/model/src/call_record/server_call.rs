//! What is recorded of one call of a server.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{CallOutcome, SpanId};
use proxy_json::Raw;

/// The host of a server that is reached over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    pub host: String,
    pub port: Option<u16>,
}

/// One call of a server or of a local tool.
#[derive(Clone, Debug)]
pub struct ServerCallRecord {
    pub server: Arc<str>,
    pub method: Cow<'static, str>,
    pub began: SystemTime,
    pub duration: Duration,
    pub params: Raw,
    pub result: Option<Raw>,
    pub outcome: CallOutcome,
    /// Whether it ran in this process.
    pub is_local: bool,
    /// Where the server is; `None` if the proxy started it.
    pub address: Option<Arc<ServerAddress>>,
    /// Its span, if the request is traced.
    pub span: Option<SpanId>,
}
