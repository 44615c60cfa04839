//! The vectors of the tools of one index. They come from an [`Embedder`]; until they have arrived, and whenever the embedder
//! fails, only the words count.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::fusion::Fusion;
use super::segments::segments;
use super::tool_text::tool_text;
use super::{EmbedError, Embedder, Vector, priority};
use crate::tool::Tool;
use crate::weights::SEGMENT_WEIGHT;
use proxy_base::backoff::Backoff;

/// How many tools are embedded at a time. In between, the work ends if nobody needs the index any more.
const BATCH_SIZE: usize = 16;

/// Maximum length of a query in bytes; the rest is ignored.
const MAX_QUERY: usize = 2 << 10;

/// Delays between attempts to fetch the vectors.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

pub(crate) struct ToolVectors {
    embedder: Arc<dyn Embedder>,
    /// Not set until all vectors have arrived; empty if they never will.
    vectors: OnceLock<Vec<Vector>>,
    /// How many have arrived.
    arrived: AtomicUsize,
    expected: usize,
    /// Whether the last attempt has failed.
    is_failing: AtomicBool,
}

/// How an attempt to fetch vectors ended.
enum Attempt {
    Finished,
    Failed,
}

impl ToolVectors {
    /// Starts fetching the vectors in the background.
    pub(crate) fn start<'a>(embedder: Arc<dyn Embedder>, tools: impl Iterator<Item = &'a Tool>) -> Arc<Self> {
        let texts: Vec<String> = tools.map(tool_text).collect();
        let vectors = Arc::new(ToolVectors {
            embedder,
            vectors: OnceLock::new(),
            arrived: AtomicUsize::new(0),
            expected: texts.len(),
            is_failing: AtomicBool::new(false),
        });
        let work = Arc::downgrade(&vectors);
        let thread = std::thread::Builder::new().name("embeddings".into()).spawn(move || {
            priority::lower();
            fetch_with_retries(&work, &texts);
        });
        if let Err(error) = thread {
            tracing::warn!(%error, "no thread to fetch embeddings; search uses words only");
        }
        vectors
    }

    pub(crate) fn fusion(&self) -> Fusion {
        self.embedder.fusion()
    }

    /// Waits for the vectors, until none has arrived for as long as `timeout`, or ten times as long if the embedder is only
    /// slow. `report` is told how many have arrived, and how many there will be.
    pub(crate) fn settle(&self, timeout: Duration, report: &dyn Fn(usize, usize)) {
        let (mut last, mut since) = (0, Instant::now());
        let patience = || if self.is_failing.load(Ordering::Relaxed) { timeout } else { timeout * 10 };
        while self.vectors.get().is_none() && since.elapsed() < patience() {
            std::thread::sleep(Duration::from_millis(20));
            let arrived = self.arrived.load(Ordering::Relaxed);
            if arrived != last {
                (last, since) = (arrived, Instant::now());
                report(arrived, self.expected);
            }
        }
    }

    /// How similar each tool is to a query; `None` if that is not known.
    pub(crate) fn similarities(&self, query: &str) -> Option<Vec<f32>> {
        let vectors = self.vectors.get().filter(|vectors| vectors.len() == self.expected)?;
        let query = &query[..query.floor_char_boundary(MAX_QUERY)];
        if !query.chars().any(char::is_alphanumeric) {
            return None;
        }
        let texts = std::iter::once(query).chain(segments(query)).map(str::to_owned).collect();
        let embedded = self.embedder.embed_query(texts);
        let embedded = embedded.inspect_err(|error| {
            tracing::warn!(%error, "no embedding for the query; this search uses words only");
        });
        let embedded = embedded.ok()?;
        let (whole, parts) = embedded.split_first()?;
        let similarity_to = |tool: &Vector| {
            let similarity = cosine(whole, tool);
            match parts.iter().map(|part| cosine(part, tool)).reduce(f32::max) {
                Some(best) => (1.0 - SEGMENT_WEIGHT) * similarity + SEGMENT_WEIGHT * best,
                None => similarity,
            }
        };
        Some(vectors.iter().map(similarity_to).collect())
    }

    fn attempt(this: &Weak<Self>, texts: &[String], vectors: &mut Vec<Vector>) -> Attempt {
        while vectors.len() < texts.len() {
            let Some(this) = this.upgrade() else { return Attempt::Finished };
            let batch = &texts[vectors.len()..texts.len().min(vectors.len() + BATCH_SIZE)];
            match this.embedder.embed_tools(batch) {
                Ok(embedded) if embedded.len() == batch.len() => vectors.extend(embedded),
                Ok(embedded) => {
                    let (expected, got) = (batch.len(), embedded.len());
                    tracing::warn!(expected, got, "embeddings ignored: wrong number of vectors");
                    return this.give_up();
                }
                Err(error @ EmbedError::Unusable(_)) => {
                    tracing::error!(%error, "search uses words only");
                    return this.give_up();
                }
                Err(error) => {
                    tracing::warn!(%error, "no embeddings yet; search uses words only");
                    this.is_failing.store(true, Ordering::Relaxed);
                    return Attempt::Failed;
                }
            }
            this.is_failing.store(false, Ordering::Relaxed);
            this.arrived.store(vectors.len(), Ordering::Relaxed);
        }
        if let Some(this) = this.upgrade() {
            let _ = this.vectors.set(std::mem::take(vectors));
        }
        Attempt::Finished
    }

    /// Nobody waits for the vectors any longer.
    fn give_up(&self) -> Attempt {
        let _ = self.vectors.set(Vec::new());
        Attempt::Finished
    }
}

/// Fetches the vectors, with retries until they have arrived or the index is dropped.
fn fetch_with_retries(work: &Weak<ToolVectors>, texts: &[String]) {
    let mut backoff = Backoff::new(FIRST_RETRY_DELAY, MAX_RETRY_DELAY);
    let mut vectors = Vec::with_capacity(texts.len());
    while matches!(ToolVectors::attempt(work, texts, &mut vectors), Attempt::Failed) {
        std::thread::sleep(backoff.next_delay());
    }
}

/// The cosine similarity of two vectors of length 1; 0 if their dimensions differ.
fn cosine(first: &[f32], second: &[f32]) -> f32 {
    if first.len() != second.len() {
        return 0.0;
    }
    // Eight sums, because one sum would have to be added up number by number.
    let ((first, first_rest), (second, second_rest)) = (first.as_chunks::<8>(), second.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (one, two) in first.iter().zip(second) {
        for (sum, (one, two)) in sums.iter_mut().zip(one.iter().zip(two)) {
            *sum += one * two;
        }
    }
    let rest: f32 = first_rest.iter().zip(second_rest).map(|(one, two)| one * two).sum();
    sums.iter().sum::<f32>() + rest
}
