//! The Streamable HTTP transport.

pub(crate) mod agreement;
pub(crate) mod exchange;
pub(crate) mod listener;
