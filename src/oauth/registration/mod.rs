//! The client as which the proxy is known to an authorization server: which one is used, and how a new one is registered.

mod choice;
mod client;

pub(super) use choice::ClientChoice;
pub(super) use client::{AuthMethod, Registration};
