//! Carries JSON-RPC messages to and from one server over stdio, Streamable HTTP or HTTP+SSE, and dispatches what the
//! server sends. Knows nothing of handshakes or of reconnecting. Uses only `call` of the other modules of this crate.

mod activity;
mod any_transport;
mod api;
mod cancel_on_drop;
mod child_stdin;
mod error;
mod http;
mod inbound;
mod last_words;
mod log_in;
mod outgoing;
mod pending;
mod processes;
mod server_client;
mod server_requests;
mod signals;
mod sse;
mod stderr_log;
mod stdio;
mod subscriptions;

pub(super) use activity::Activity;
pub(super) use any_transport::Transport;
pub(super) use api::{ApiSettings, ApiTransport, Description};
pub use api::{DescriptionFacts, Descriptions, read_description};
pub(super) use error::TransportError;
pub(super) use http::HttpTransport;
pub(super) use last_words::LastWords;
pub(super) use log_in::LogIn;
pub(super) use outgoing::Outgoing;
pub use processes::RunningProcess;
pub(super) use processes::ServerProcesses;
pub(super) use server_client::ServerClient;
pub(super) use server_requests::{ELICITATION, QuestionTerms, check_permitted};
pub(super) use signals::Signals;
pub(super) use sse::SseTransport;
pub(super) use stderr_log::StderrLog;
pub(super) use stdio::StdioTransport;
pub(super) use subscriptions::{ServerSubscriptions, SubscriptionState};
