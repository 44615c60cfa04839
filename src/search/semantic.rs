//! Semantic search: embedding vectors in addition to words. They come from an [`Embedder`]; until they have arrived,
//! and whenever the embedder fails, only the words count.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::index::is_among;
use super::score::Scored;
use super::tool::{self, Tool};
use super::weights::{LEXICAL_WEIGHT, NEAR_IN_MEANING};
use crate::backoff::Backoff;

/// Maximum length of a tool's text in bytes. Small models do not read more.
const MAX_TEXT: usize = 2_000;

/// Delays between attempts to fetch the vectors.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Computes embedding vectors of texts. Its methods block the calling thread.
pub trait Embedder: std::fmt::Debug + Send + Sync {
    /// Identifies the model and its server. Vectors of different identities are not comparable.
    fn identity(&self) -> String;

    /// One vector per text of a tool. Runs in the background and may take long.
    fn embed_tools(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a query, for which a client is waiting.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError>;
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EmbedError(pub String);

/// The vectors of the tools of one index.
pub struct Semantic {
    embedder: Arc<dyn Embedder>,
    /// Empty until the vectors have arrived.
    vectors: OnceLock<Vec<Vec<f32>>>,
}

impl Semantic {
    /// Starts fetching the vectors in the background.
    pub(super) fn start<'a>(embedder: Arc<dyn Embedder>, tools: impl Iterator<Item = &'a Tool>) -> Arc<Self> {
        let texts: Vec<String> = tools.map(tool_text).collect();
        let semantic = Arc::new(Semantic { embedder, vectors: OnceLock::new() });
        let work = Arc::downgrade(&semantic);
        let thread =
            std::thread::Builder::new().name("embeddings".into()).spawn(move || fetch_with_retries(&work, &texts));
        if let Err(error) = thread {
            tracing::warn!(%error, "no thread to fetch embeddings; search uses words only");
        }
        semantic
    }

    /// Fetches the vectors, and returns false if another attempt may succeed.
    fn fetch(&self, texts: &[String]) -> bool {
        match self.embedder.embed_tools(texts) {
            Ok(vectors) if vectors.len() == texts.len() => {
                let _ = self.vectors.set(vectors.into_iter().map(unit).collect());
                true
            }
            Ok(vectors) => {
                tracing::warn!(
                    expected = texts.len(),
                    got = vectors.len(),
                    "embeddings ignored: wrong number of vectors"
                );
                true
            }
            Err(error) => {
                tracing::warn!(%error, "no embeddings yet; search uses words only");
                false
            }
        }
    }

    /// Waits for the vectors, at most for `timeout`.
    pub(super) fn settle(&self, timeout: Duration) {
        let begin = Instant::now();
        while self.vectors.get().is_none() && begin.elapsed() < timeout {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Combines the lexical score with the semantic similarity, and adds the tools that share no word with the query but
    /// are near to it in meaning.
    pub(super) fn reorder(&self, text: &str, scored: &mut Vec<Scored>, tools: usize, among: Option<&[bool]>) {
        let Some(vectors) = self.vectors.get().filter(|vectors| vectors.len() == tools) else { return };
        let query = match self.embedder.embed_query(text) {
            Ok(vector) => unit(vector),
            Err(error) => {
                tracing::warn!(%error, "no embedding of the query; this search uses words only");
                return;
            }
        };
        let similarities: Vec<f32> = vectors.iter().map(|vector| similarity(&query, vector)).collect();
        let allowed = similarities.iter().enumerate().filter(|(tool, _)| is_among(among, *tool));
        let (low, high) = allowed.fold((f32::MAX, f32::MIN), |(low, high), (_, x)| (low.min(*x), high.max(*x)));
        let best = scored.first().map_or(0.0, |best| best.score).max(f32::EPSILON);
        let mut lexical: Vec<Option<Scored>> = (0..tools).map(|_| None).collect();
        for candidate in scored.drain(..) {
            let position = candidate.tool as usize;
            lexical[position] = Some(candidate);
        }
        for (tool, (candidate, similarity)) in lexical.into_iter().zip(&similarities).enumerate() {
            if !is_among(among, tool) {
                continue;
            }
            let range = high - low;
            let semantic = if range > f32::EPSILON { (similarity - low) / range } else { 1.0 };
            if candidate.is_none() && semantic < NEAR_IN_MEANING {
                continue;
            }
            let number = u32::try_from(tool).unwrap_or(u32::MAX);
            let mut candidate = candidate.unwrap_or(Scored { tool: number, score: 0.0 });
            candidate.score = LEXICAL_WEIGHT * candidate.score / best + (1.0 - LEXICAL_WEIGHT) * semantic;
            scored.push(candidate);
        }
        scored.sort_by(|first, second| second.score.total_cmp(&first.score).then(first.tool.cmp(&second.tool)));
    }
}

/// Fetches the vectors, with retries until they have arrived or the index is dropped.
fn fetch_with_retries(semantic: &Weak<Semantic>, texts: &[String]) {
    let mut backoff = Backoff::new(FIRST_RETRY_DELAY, MAX_RETRY_DELAY);
    while let Some(semantic) = semantic.upgrade() {
        if semantic.fetch(texts) {
            return;
        }
        drop(semantic);
        std::thread::sleep(backoff.next_delay());
    }
}

fn tool_text(tool: &Tool) -> String {
    let [name, description, _, server, parameters, _] = tool::parts(&tool.server, &tool.definition);
    let mut text = format!("{server} {name}: {description}\n{}", parameters.replace('\n', " "));
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    text
}

/// Normalizes a vector to length 1, so that the dot product of two is their cosine similarity.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

/// The cosine similarity of two unit vectors; 0 if their dimensions differ.
fn similarity(first: &[f32], second: &[f32]) -> f32 {
    if first.len() != second.len() {
        return 0.0;
    }
    first.iter().zip(second).map(|(one, two)| one * two).sum()
}
