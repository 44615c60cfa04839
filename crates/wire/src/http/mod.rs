//! HTTP on both sides: the listener for clients, and the client for servers.

mod accept;
mod body;
mod client;
mod connection_slots;
mod fetch;
mod guard;
mod listener;
mod reply_body;
mod socket;
mod text_port;
mod unknown_hosts;
mod watched_stream;
mod web_port;
mod woken_only;

pub use client::{EventStream, HttpAnswer, HttpClient, HttpError, HttpPool, SentHeaders};
pub use fetch::{FetchError, Fetcher, Reach, is_same_issuer, issuer_metadata_urls};
pub use guard::{Guard, GuardError};
pub use listener::{Admission, Body, Frames, HttpReply, HttpRequest, HttpService, Listener, PageRequest, is_browser};
pub use socket::{SocketClient, SocketRequest, SocketService, serve_socket};
pub use text_port::{TextReply, TextService, serve_text};
pub use web_port::{WebRequest, WebService, serve_web};
