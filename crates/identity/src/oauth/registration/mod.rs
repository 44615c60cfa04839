//! The client as which the proxy is known to an authorization server: which one is used, and how a new one is registered.

mod choice;

pub(super) use choice::ClientChoice;
