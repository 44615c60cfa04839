//! A server on rmcp's typed handler: an independent counterpart that speaks both eras by rmcp's own logic.
//! `rmcp-server` serves stdio, `rmcp-server --http ADDR` Streamable HTTP; `--legacy` leaves the modern era out,
//! `--resources` adds a resource that can be followed, `--asking` offers the tools that ask the client in place of the others, and `--remembering` over HTTP the tool that remembers
//! something for each session.

#![expect(unreachable_pub, reason = "a test program exports nothing; `pub` separates what its modules share")]
#![expect(clippy::print_stderr, reason = "stderr is where a server says where it listens")]

mod asking;
mod handler;
mod remembering;
mod tools;

use std::error::Error;
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use handler::Handler;
use remembering::Sessions;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let address = arguments.iter().position(|argument| argument == "--http").and_then(|at| arguments.get(at + 1));
    let handler = Handler::new(given("--legacy"), given("--resources"), given("--asking"));
    match address {
        Some(address) => serve_http(handler, address, given("--remembering")).await,
        None => {
            handler.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
            Ok(())
        }
    }
}

async fn serve_http(handler: Handler, address: &str, remembers: bool) -> Result<(), Box<dyn Error>> {
    let sessions = Arc::new(Sessions::default());
    let service = StreamableHttpService::<Handler, LocalSessionManager>::new(
        move || Ok(if remembers { handler.remembering(&sessions) } else { handler.clone() }),
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
