//! The HTTP client of an embedding server.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::runtime::Handle;

use super::provider;
use crate::semantic::vector_cache::{VectorCache, unit};
use crate::semantic::{EmbedError, Embedder, Fusion, Nearness, Vector};
use crate::weights::{NEAR_IN_MEANING, SERVER_MEANING_WEIGHT};
use proxy_config::EmbeddingServer;
use proxy_fiber::wait;
use proxy_model::Secret;
use proxy_wire::http::{HttpClient, HttpError, HttpPool};

/// Maximum number of texts per request.
const BATCH_SIZE: usize = 32;

/// The timeout for tools is long because they are embedded in the background; a client waits for the vector of a query.
const TOOLS_TIMEOUT: Duration = Duration::from_secs(60);
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

/// How long queries do without embeddings after a failure.
const COOLDOWN: Duration = Duration::from_secs(15);

const MAX_RESPONSE_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct EmbeddingClient {
    server: EmbeddingServer,
    client: HttpClient,
    vectors: VectorCache,
    runtime: Handle,
    last_failure: Mutex<Option<Instant>>,
}

impl EmbeddingClient {
    pub(super) fn new(
        server: &EmbeddingServer,
        key: Option<&str>,
        cache_folder: Option<&Path>,
        pool: &HttpPool,
        runtime: Handle,
    ) -> Result<Self, HttpError> {
        let mut headers = BTreeMap::new();
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            headers.insert("Authorization".to_owned(), Secret::new(format!("Bearer {key}")));
        }
        let client = HttpClient::new(pool, &provider::address(server), &headers, MAX_RESPONSE_BYTES)?;
        let vectors = VectorCache::new(cache_folder, &identity(server));
        Ok(EmbeddingClient { server: server.clone(), client, vectors, runtime, last_failure: Mutex::default() })
    }

    fn request(&self, texts: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let response = async { tokio::time::timeout(timeout, self.post(texts)).await };
        match wait(response, &self.runtime) {
            Ok(response) => response.map_err(EmbedError::Unavailable),
            Err(_) => Err(EmbedError::Unavailable(format!(
                "the embedding server did not respond within {} s",
                timeout.as_secs()
            ))),
        }
    }

    async fn post(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let unreachable = |error: HttpError| format!("the embedding server cannot be reached: {error}");
        let body = provider::request(&self.server, texts).to_string();
        let mut response = self.client.post(self.client.headers().into(), body).await.map_err(unreachable)?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("the embedding server responded with HTTP {status}"));
        }
        let body = response.body().await.map_err(unreachable)?;
        let response: Value = serde_json::from_slice(&body)
            .map_err(|error| format!("the embedding server's response is not JSON: {error}"))?;
        provider::vectors(self.server.provider, &response, texts.len())
            .map_err(|problem| format!("invalid response from the embedding server: {problem}"))
    }

    fn is_cooling_down(&self) -> bool {
        let last_failure = *self.last_failure.lock();
        last_failure.is_some_and(|since| since.elapsed() < COOLDOWN)
    }

    fn record(&self, last_failure: bool) {
        let now = last_failure.then(Instant::now);
        *self.last_failure.lock() = now;
    }
}

impl Embedder for EmbeddingClient {
    fn identity(&self) -> String {
        identity(&self.server)
    }

    fn fusion(&self) -> Fusion {
        Fusion { meaning_weight: SERVER_MEANING_WEIGHT, nearness: Nearness::Range(NEAR_IN_MEANING) }
    }

    fn embed_tools(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        self.vectors.load_or_embed(texts, |missing| {
            let mut vectors = Vec::with_capacity(missing.len());
            for batch in missing.chunks(BATCH_SIZE) {
                vectors.extend(self.request(batch, TOOLS_TIMEOUT)?);
            }
            Ok(vectors)
        })
    }

    fn embed_query(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        if self.is_cooling_down() {
            return Err(EmbedError::Unavailable("the embedding server failed recently".to_owned()));
        }
        let response = self.request(&texts, QUERY_TIMEOUT);
        self.record(response.is_err());
        Ok(response?.into_iter().map(unit).collect())
    }
}

/// Vectors are comparable only if provider, address and model are the same.
fn identity(server: &EmbeddingServer) -> String {
    format!("{} {} {}", server.provider.as_str(), server.url, server.model)
}
