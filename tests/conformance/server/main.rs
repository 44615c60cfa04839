//! The reference server of the conformance runs: every fixture the suite asks for, in both eras, on rmcp's typed handler.
//! `conformance-server ADDR` serves Streamable HTTP and says on stderr where; `conformance-server --stdio` serves stdio.

#![expect(unreachable_pub, reason = "a test program exports nothing; `pub` separates what its modules share")]
#![expect(clippy::print_stderr, reason = "stderr is where a server says where it listens")]
#![expect(
    deprecated,
    reason = "sampling, roots and logging are on their way out of the protocol, not out of this test"
)]

mod audience;
mod call;
mod changes;
mod content;
mod dialogue;
mod elicitation;
mod fixtures;
mod handler;
mod input_required;
mod logging;
mod progress;
mod prompts;
mod questions;
mod resources;
mod schemas;
mod seal;
mod tasks;
mod tools;

use std::error::Error;
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use handler::Handler;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let handler = Handler::default();
    if address == "--stdio" {
        handler.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
        return Ok(());
    }
    let service = StreamableHttpService::<Handler, LocalSessionManager>::new(
        move || Ok(handler.clone()),
        Arc::default(),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    // Without this a reply in two writes waits for the peer's delayed acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
