//! HTTP requests of extensions: only to hosts they may talk to, checked at the address that is connected to and again on
//! every redirect; bounded in time and size.

mod answer;
mod clients;
mod hop;
mod request;

use std::time::Duration;

use serde_json::Value;

pub use clients::Clients;
pub use request::{Body, Request};

use super::Hosts;
use hop::Hop;

/// How many redirects are followed.
const REDIRECTS: usize = 10;
/// What a body may have.
pub const MAX_BODY: usize = 10 << 20;

/// Whether an extension may ask this of anybody, as far as the request itself tells.
pub fn check(hosts: &Hosts, request: &Request) -> Result<(), String> {
    clients::way_to(Hop::first(request)?.url(), hosts).map(drop)
}

/// Performs a request; the answer as the dict that scripts get.
pub async fn perform(clients: &Clients, hosts: &Hosts, request: &Request) -> Result<Value, String> {
    let timeout = Duration::try_from_secs_f64(request.timeout).map_err(|_| "`timeout` must be above 0".to_owned())?;
    let work = async {
        let response = follow(clients, hosts, request).await?;
        answer::read(response, MAX_BODY).await
    };
    match tokio::time::timeout(timeout, work).await {
        Ok(result) => result,
        Err(_) => Err(format!("no complete answer within {} s", request.timeout)),
    }
}

async fn follow(clients: &Clients, hosts: &Hosts, request: &Request) -> Result<reqwest::Response, String> {
    let mut hop = Hop::first(request)?;
    for _ in 0..=REDIRECTS {
        let client = clients.towards(hop.url(), hosts)?;
        let response = hop.send(&client).await?;
        match hop.after(&response)? {
            Some(next) => hop = next,
            None => return Ok(response),
        }
    }
    Err(format!("more than {REDIRECTS} redirects"))
}

#[cfg(test)]
mod tests;
