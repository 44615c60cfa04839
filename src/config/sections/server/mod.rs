//! A server of `mcpServers`: how to reach it, and how patient to be with it.

mod read;
mod transport;

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

use crate::diagnostic::Place;
use crate::model::{MethodPattern, Secret};

pub(crate) use read::read_servers;

#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    pub transport: TransportConfig,
    pub disabled: bool,
    /// For one request; progress starts it anew.
    pub timeout: Duration,
    /// For one request, whatever its progress.
    pub max_timeout: Duration,
    pub start_timeout: Duration,
    /// Whether the proxy refuses to start without it.
    pub required: bool,
    /// The longest wait before it is started again.
    pub max_backoff: Duration,
    pub max_message_bytes: u64,
    /// How many calls it gets at a time; more wait their turn.
    pub max_concurrent: usize,
    pub circuit_breaker: CircuitBreaker,
    pub protocol: ProtocolChoice,
    pub probe_timeout: Duration,
    /// How long its tools stay listed after it has vanished.
    pub grace: Duration,
    /// Methods beyond the protocol's own that belong to it.
    pub methods: Vec<MethodPattern>,
    /// Whether every session, or known person, has a connection of its own.
    pub session_scoped: bool,
    /// How long a person may take to answer what the server asks.
    pub input_timeout: Duration,
    /// Where it stands in the config file, if it stands there.
    pub place: Option<Place>,
}

impl ServerConfig {
    pub fn new(transport: TransportConfig) -> Self {
        ServerConfig {
            transport,
            disabled: false,
            timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(10 * 60),
            start_timeout: Duration::from_secs(30),
            required: false,
            max_backoff: Duration::from_secs(30),
            max_message_bytes: 16 << 20,
            max_concurrent: 64,
            circuit_breaker: CircuitBreaker { failures: 5, cooldown: Duration::from_secs(30) },
            protocol: ProtocolChoice::Auto,
            probe_timeout: Duration::from_secs(5),
            grace: Duration::from_secs(30),
            methods: Vec::new(),
            session_scoped: false,
            input_timeout: Duration::from_secs(10 * 60),
            place: None,
        }
    }

    /// Whether a reload can leave it running: equal in everything but where it stands in the file.
    pub fn is_same_as(&self, other: &ServerConfig) -> bool {
        ServerConfig { place: None, ..self.clone() } == ServerConfig { place: None, ..other.clone() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum TransportConfig {
    Stdio {
        /// As written; `proxy` means the running executable.
        command: String,
        args: Vec<String>,
        env: IndexMap<String, Secret>,
        cwd: Option<PathBuf>,
    },
    Http {
        url: String,
        headers: IndexMap<String, Secret>,
        /// Said to speak the HTTP+SSE transport of 2024-11-05, so nothing else is tried.
        sse: bool,
    },
}

/// When a server that keeps failing is left alone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitBreaker {
    /// In a row; none means never.
    pub failures: usize,
    pub cooldown: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Find out what the server speaks.
    Auto,
    Pinned(String),
}

/// Every protocol version a server may be pinned to, oldest first.
pub const PROTOCOL_VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The one without sessions.
pub(crate) const STATELESS_VERSION: &str = PROTOCOL_VERSIONS[4];

pub(crate) const MAX_NAME_LENGTH: usize = 64;

/// What is wrong with a server's name, if anything.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("a server needs a name".to_owned())
    } else if name.chars().count() > MAX_NAME_LENGTH {
        Some(format!("a server's name has at most {MAX_NAME_LENGTH} characters"))
    } else if name.contains('/') || name.chars().any(char::is_control) {
        Some("a server's name must not have `/` or control characters".to_owned())
    } else {
        None
    }
}

/// What is wrong with the address of an HTTP server, if anything. Does not show it: it may hold a key.
pub(crate) fn url_problem(url: &str) -> Option<&'static str> {
    let Ok(parsed) = url.parse::<http::Uri>() else { return Some("expected a URL such as `https://host/mcp`") };
    match parsed.scheme_str() {
        Some("http" | "https") if parsed.host().is_some_and(|host| !host.is_empty()) => None,
        _ => Some("expected a URL that begins with `http://` or `https://`"),
    }
}
