//! HTTP on both sides: the listener clients come to, and the client for servers we go to.

mod accept;
mod beat;
mod body;
mod client;
mod guard;
mod listener;

pub use client::{Answer, EventStream, HttpClient, HttpError, Pool};
pub use guard::{Guard, GuardError};
pub use listener::{Body, Frames, HttpReply, HttpRequest, HttpService, Listener};
