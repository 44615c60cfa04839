//! HTTP/1.1 on a Unix socket: both sides of the control API.

mod client;
mod server;

pub use client::SocketClient;
pub use server::{SocketRequest, SocketService, serve_socket};
