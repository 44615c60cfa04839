//! One integration binary: given these backends and this config, when the client does this, it sees exactly that.

mod harness;
mod session_http;
mod support;
