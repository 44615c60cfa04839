//! `proxy console`: a page in the browser that shows a running proxy. The page has a port of its own, in the process of the
//! command, and its API is the control socket of the proxy. So the proxy opens nothing, and one that serves on stdio has a
//! console too.
//!
//! A port on loopback can be reached by every process of the machine, and by every web page in a browser of it. What
//! keeps them out: [`request_check`] and [`page_tokens`].

mod assets;
mod console_port;
mod forwarding;
mod request_check;
mod response_headers;
mod page_tokens;
mod shown_proxy;

pub use console_port::{Console, ConsoleError, ConsoleEvent};
pub use page_tokens::CODE_LIFETIME;
