//! Fetches the keys of an issuer: from the URL in the config, or from the one that the issuer's metadata name.

use std::path::PathBuf;
use std::time::Duration;

use http::header::{ACCEPT, CACHE_CONTROL};
use http::{HeaderMap, Request, Response};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

use super::key_set::KeySet;
use proxy_base::foreign_text::quoted;
use proxy_config::IssuerConfig;
use proxy_wire::http::{Fetcher, Reach, is_same_issuer, issuer_metadata_urls};

/// For one document.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(in crate::bearer) struct FetchedKeys {
    pub(in crate::bearer) keys: KeySet,
    /// Of the document.
    pub(in crate::bearer) digest: [u8; 32],
    /// How long the issuer says that the document counts.
    pub(in crate::bearer) max_age: Option<Duration>,
}

/// Where the keys of an issuer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bearer) enum KeySource {
    /// Its metadata says so.
    Metadata,
    Url(String),
    File(PathBuf),
}

impl From<&IssuerConfig> for KeySource {
    fn from(config: &IssuerConfig) -> Self {
        match (&config.jwks_file, &config.jwks_url) {
            (Some(file), _) => KeySource::File(file.clone()),
            (None, Some(url)) => KeySource::Url(url.clone()),
            (None, None) => KeySource::Metadata,
        }
    }
}

/// # Errors
/// Says what is wrong without naming a path, which may be a secret.
pub(in crate::bearer) async fn fetch(
    fetcher: &Fetcher,
    issuer: &str,
    source: &KeySource,
) -> Result<FetchedKeys, String> {
    let (reach, url) = match source {
        KeySource::File(file) => {
            let text = tokio::fs::read(file).await.map_err(|error| format!("cannot read `jwksFile`: {error}"))?;
            return keys_in(&text, None);
        }
        KeySource::Url(url) => {
            let url = Url::parse(url).map_err(|error| format!("`jwksUrl`: {error}"))?;
            (Reach::of(&url).await, url)
        }
        KeySource::Metadata => {
            let named = Url::parse(issuer).map_err(|error| error.to_string())?;
            let reach = Reach::of(&named).await;
            (reach, keys_url(fetcher, reach, issuer, &named).await?)
        }
    };
    let response = get(fetcher, reach, &url).await.map_err(|reason| format!("cannot fetch its keys: {reason}"))?;
    if response.status().as_u16() != 200 {
        return Err(format!("cannot fetch its keys: HTTP {}", response.status().as_u16()));
    }
    keys_in(response.body(), max_age(response.headers()))
}

/// The keys in a document.
fn keys_in(text: &[u8], max_age: Option<Duration>) -> Result<FetchedKeys, String> {
    let document: Value = serde_json::from_slice(text).map_err(|_| "its keys are not JSON".to_owned())?;
    let keys = KeySet::parse(&document).ok_or("its keys are not a JWK set")?;
    // An issuer that lists no key at all has withdrawn them: no token counts any more.
    let is_withdrawn = document["keys"].as_array().is_some_and(Vec::is_empty);
    if keys.len() == 0 && !is_withdrawn {
        return Err("none of its keys can verify a token".to_owned());
    }
    Ok(FetchedKeys { keys, digest: Sha256::digest(text).into(), max_age })
}

/// Where the metadata of an issuer say that its keys are.
async fn keys_url(fetcher: &Fetcher, reach: Reach, issuer: &str, named: &Url) -> Result<Url, String> {
    let mut failure = None;
    for url in issuer_metadata_urls(named) {
        let response = match get(fetcher, reach, &url).await {
            Ok(response) => response,
            Err(reason) => {
                failure.get_or_insert(format!("cannot fetch its metadata: {reason}"));
                continue;
            }
        };
        let status = response.status().as_u16();
        if status != 200 {
            if status >= 500 || status == 429 {
                failure.get_or_insert(format!("cannot fetch its metadata: HTTP {status}"));
            }
            continue;
        }
        let Ok(document) = serde_json::from_slice::<Value>(response.body()) else { continue };
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        let (Some(own), Some(keys)) = (text("issuer"), text("jwks_uri")) else { continue };
        if !is_same_issuer(own, issuer) {
            // Another place may have the right ones.
            failure.get_or_insert(format!("its metadata belongs to another issuer, {}", quoted(own)));
            continue;
        }
        if own != issuer {
            tracing::warn!(
                "`auth.issuers`: the metadata and tokens of {} name it {}: use that name",
                quoted(issuer),
                quoted(own)
            );
        }
        return Url::parse(keys).map_err(|_| "its metadata has an invalid URL for its keys".to_owned());
    }
    Err(failure.unwrap_or_else(|| "it has no metadata that says where its keys are; set `jwksUrl`".to_owned()))
}

async fn get(fetcher: &Fetcher, reach: Reach, url: &Url) -> Result<Response<Vec<u8>>, String> {
    let request = Request::get(url.as_str()).header(ACCEPT, "application/json").body(Vec::new());
    let request = request.map_err(|error| error.to_string())?;
    match tokio::time::timeout(TIMEOUT, fetcher.fetch(reach, request)).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no complete response within {} s", TIMEOUT.as_secs())),
    }
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let directives = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut ages = directives.flat_map(|value| value.split(',')).filter_map(|directive| {
        let (name, value) = directive.trim().split_once('=')?;
        name.eq_ignore_ascii_case("max-age").then(|| value.trim_matches('"').parse().ok())?
    });
    ages.next().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuer_says_how_long_its_keys_count() {
        let age = |value: &'static str| {
            max_age(&[(CACHE_CONTROL, value.parse().unwrap())].into_iter().collect()).map(|age| age.as_secs())
        };
        assert_eq!(age("public, max-age=3600, must-revalidate"), Some(3600));
        assert_eq!(age("Max-Age=\"60\""), Some(60));
        assert_eq!((age("no-store"), age("max-age=soon"), age("s-maxage=9")), (None, None, None));
    }
}
