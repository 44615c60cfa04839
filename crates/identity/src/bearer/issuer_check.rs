//! Fetches the keys of all configured issuers once, to report whether tokens can be verified.

use futures::future::join_all;

use super::keys::{KeySource, fetch};
use proxy_config::Authentication;
use proxy_wire::http::Fetcher;

/// The problem of each issuer whose metadata or keys cannot be fetched.
pub async fn unreachable_issuers(authentication: &Authentication) -> Vec<String> {
    let fetcher = Fetcher::default();
    let problems = authentication.issuers.iter().map(async |issuer| {
        let keys = fetch(&fetcher, &issuer.issuer, &KeySource::from(issuer)).await;
        keys.err().map(|reason| format!("issuer `{}`: {reason}", issuer.issuer))
    });
    join_all(problems).await.into_iter().flatten().collect()
}
