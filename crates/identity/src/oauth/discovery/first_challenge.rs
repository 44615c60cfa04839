//! What a server asks of a client that shows no token, by one request.

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use serde_json::json;
use url::Url;

use super::challenge::Challenge;
use proxy_wire::http::{Fetcher, Reach};

/// The challenge to a handshake without a token; `None` if there is none, or no answer.
pub(crate) async fn first_challenge(fetcher: &Fetcher, server: &Url) -> Option<Challenge> {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "starlark-mcp-proxy", "version": env!("CARGO_PKG_VERSION")},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let request = Request::post(server.as_str())
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_string().into_bytes())
        .ok()?;
    let answer = fetcher.fetch(Reach::of(server).await, request).await.ok()?;
    if answer.status() != 401 {
        return None;
    }
    let values = answer.headers().get_all(WWW_AUTHENTICATE).iter();
    let values: Vec<String> = values.filter_map(|value| value.to_str().ok().map(str::to_owned)).collect();
    Challenge::find(&values)
}
