//! `proxy console`: a page in the browser that shows a running proxy. The command serves the page on its own
//! port and forwards the page's API to the control socket of the proxy. The proxy itself opens no port, so a proxy on stdio
//! has a console too.
//!
//! Every process on the machine, and every web page in its browsers, can reach a loopback port. [`request_check`] and
//! [`page_tokens`] keep them out.

mod assets;
mod console_port;
mod forwarding;
mod request_check;
mod response_headers;
mod page_tokens;
mod shown_proxy;

pub use console_port::{Console, ConsoleError, ConsoleEvent};
pub use page_tokens::CODE_LIFETIME;
