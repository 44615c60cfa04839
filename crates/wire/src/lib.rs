//! The wire protocol, for clients and servers of every revision: JSON-RPC messages with unparsed bodies, line framing,
//! event streams and HTTP. Nothing here decides what a message means for the proxy.

pub mod completion;
mod error;
pub mod headers;
pub mod hops;
pub mod http;
mod lines;
mod message;
mod meta;
mod method;
pub mod params;
mod revision;
mod logging_level;
pub mod sse;
mod stdio;
pub mod outbound;
pub mod oversized;
mod parse;
mod traced;

pub use completion::{CompletionArgument, CompletionParams};
pub use error::{RpcError, code};
pub use lines::{InputLine, LineReader, LineSender, line_writer};
pub use logging_level::LoggingLevel;
pub use message::{Id, Message, MessageError, Notification, Request, Response, batch, encode};
pub use meta::{ClientMeta, RESERVED, carried_meta, key, may_have_reserved, without_reserved};
pub use method::Method;
pub use parse::{parse, yield_if_large};
pub use revision::Revision;
pub use stdio::standard_streams;
pub use traced::{Sender, trace_client, trace_server};
