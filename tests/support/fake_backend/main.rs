//! A raw JSON-RPC MCP server that misbehaves on command. It shares no code with the proxy, so that a mistake of the
//! proxy cannot hide in a shared parser.

#![expect(unreachable_pub, reason = "a test program exports nothing; `pub` separates what its modules share")]
#![expect(clippy::print_stderr, reason = "stderr is where a server says where it listens")]

mod call;
mod catalog;
mod discovery;
mod dispatch;
mod features;
mod headers;
mod http;
mod listing;
mod message;
mod old_sse;
mod options;
mod outbox;
mod parameter_headers;
mod pretty;
mod request;
mod session;
mod shared;
mod sse;
mod stdio;
mod subscriptions;
mod tasks;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use options::{Options, Transport};
use shared::Shared;

// One thread: requests are then begun in the order in which they arrived, which `reorder` relies on.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("fake-backend: {problem}");
            std::process::exit(2);
        }
    };
    if let Some(code) = options.exit_immediately {
        std::process::exit(code);
    }
    if let Some(text) = &options.stderr {
        eprintln!("{text}");
    }
    if let Some(delay) = options.start_delay {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    let transport = options.transport.clone();
    let shared = Arc::new(Shared::new(options));
    let outcome = match transport {
        Transport::Stdio => stdio::serve(shared).await,
        Transport::Http(address) => http::serve(shared, &address).await,
    };
    if let Err(problem) = outcome {
        eprintln!("fake-backend: {problem}");
        std::process::exit(1);
    }
}
