//! HTTP requests of extensions, only to allowed hosts. The check covers the address of the connection and every
//! redirect. Time and size are limited.

mod response;
mod clients;
mod hop;
mod request;

use std::time::Duration;

use serde_json::Value;

pub use clients::HttpClients;
pub use request::{OutboundRequest, RequestBody};

use super::Hosts;
use hop::Hop;

/// Maximum number of redirects to follow.
const MAX_REDIRECTS: usize = 10;
/// Maximum size of a response body in bytes.
pub const MAX_BODY: usize = 10 << 20;

/// Checks whether an extension may send this request, as far as that is known before DNS resolution and redirects.
pub fn check(hosts: &Hosts, request: &OutboundRequest) -> Result<(), String> {
    clients::scope_of(Hop::first(request)?.url(), hosts).map(drop)
}

/// Performs a request, and returns the response as the dict for the script.
pub async fn perform(clients: &HttpClients, hosts: &Hosts, request: &OutboundRequest) -> Result<Value, String> {
    let timeout = Duration::try_from_secs_f64(request.timeout).map_err(|_| "`timeout` must be above 0".to_owned())?;
    let work = async {
        let response = follow(clients, hosts, request).await?;
        response::read(response, MAX_BODY).await
    };
    match tokio::time::timeout(timeout, work).await {
        Ok(result) => result,
        Err(_) => Err(format!("no complete response within {} s (timeout)", request.timeout)),
    }
}

async fn follow(clients: &HttpClients, hosts: &Hosts, request: &OutboundRequest) -> Result<reqwest::Response, String> {
    let mut hop = Hop::first(request)?;
    for _ in 0..=MAX_REDIRECTS {
        let client = clients.client_for(hop.url(), hosts)?;
        let response = hop.send(&client).await?;
        match hop.after(&response)? {
            Some(next) => hop = next,
            None => return Ok(response),
        }
    }
    Err(format!("more than {MAX_REDIRECTS} redirects"))
}

#[cfg(test)]
mod tests;
