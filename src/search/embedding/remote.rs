//! An embedding server behind an HTTP address.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;

use super::kept::Kept;
use super::shape;
use crate::config::Embedding;
use crate::fiber::wait;
use crate::model::Secret;
use crate::search::{EmbedError, Embedder};
use crate::wire::http::{HttpClient, HttpError, Pool};

/// Texts of one request.
const BATCH: usize = 32;

/// Nobody waits for the vectors of tools; somebody waits for that of a query.
const TOOLS: Duration = Duration::from_secs(60);
const QUERY: Duration = Duration::from_secs(3);

/// How long a server that failed is not asked for queries.
const REST: Duration = Duration::from_secs(15);

const MAX_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct Remote {
    embedding: Embedding,
    client: HttpClient,
    kept: Kept,
    runtime: Handle,
    failed: Mutex<Option<Instant>>,
}

impl Remote {
    pub(super) fn new(
        embedding: &Embedding,
        key: Option<&str>,
        cache_folder: Option<&Path>,
        pool: &Pool,
        runtime: Handle,
    ) -> Result<Self, HttpError> {
        let mut headers = BTreeMap::new();
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            headers.insert("Authorization".to_owned(), Secret::new(format!("Bearer {key}")));
        }
        let client = HttpClient::new(pool, &shape::address(embedding), &headers, MAX_BYTES)?;
        let kept = Kept::new(cache_folder, &identity(embedding));
        Ok(Remote { embedding: embedding.clone(), client, kept, runtime, failed: Mutex::default() })
    }

    fn ask(&self, texts: &[String], limit: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let asked = async { tokio::time::timeout(limit, self.post(texts)).await };
        match wait(asked, &self.runtime) {
            Ok(answer) => answer.map_err(EmbedError),
            Err(_) => Err(EmbedError(format!("the embedding server did not answer within {} s", limit.as_secs()))),
        }
    }

    async fn post(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let told = |error: HttpError| format!("the embedding server cannot be reached: {error}");
        let body = shape::request(&self.embedding, texts).to_string();
        let mut answer = self.client.post(self.client.headers(), body).await.map_err(told)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("the embedding server answered {status}"));
        }
        let body = answer.body().await.map_err(told)?;
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| format!("the embedding server did not answer JSON: {error}"))?;
        shape::vectors(self.embedding.provider, &answer, texts.len())
            .map_err(|problem| format!("the embedding server: {problem}"))
    }

    fn rests(&self) -> bool {
        let failed = *self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|since| since.elapsed() < REST)
    }

    fn note(&self, failed: bool) {
        let now = failed.then(Instant::now);
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

impl Embedder for Remote {
    fn identity(&self) -> String {
        identity(&self.embedding)
    }

    fn embed_tools(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors: Vec<Option<Vec<f32>>> = texts.iter().map(|text| self.kept.load(text)).collect();
        let missing: Vec<usize> = (0..texts.len()).filter(|place| vectors[*place].is_none()).collect();
        for places in missing.chunks(BATCH) {
            let batch: Vec<String> = places.iter().map(|place| texts[*place].clone()).collect();
            for (place, vector) in places.iter().zip(self.ask(&batch, TOOLS)?) {
                self.kept.save(&texts[*place], &vector);
                vectors[*place] = Some(vector);
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        if self.rests() {
            return Err(EmbedError("the embedding server failed a moment ago".to_owned()));
        }
        let answer = self.ask(&[text.to_owned()], QUERY);
        self.note(answer.is_err());
        answer?.pop().ok_or_else(|| EmbedError("the embedding server gave no vector".to_owned()))
    }
}

/// Vectors of another model, or of the same name elsewhere, are other vectors.
fn identity(embedding: &Embedding) -> String {
    format!("{} {} {}", embedding.provider.as_str(), embedding.url, embedding.model)
}
