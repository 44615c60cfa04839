//! Search, as `find_tool` does it, with scores.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use proxy_engine::surface::Surface;
use proxy_search::{Hit, Index};

/// How long to wait for the next tool embeddings. After that, only the word score counts.
const EMBEDDING_WAIT: Duration = Duration::from_secs(30);

/// A tool that was found.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoundTool {
    pub score: f64,
    /// The share of the score from matching words.
    pub words: f64,
    /// The share of the score from semantic similarity; `None` if only words were compared.
    pub meaning: Option<f64>,
    /// The cosine similarity of tool and query, if embeddings were compared.
    pub similarity: Option<f64>,
    /// The words of the query that the tool contains, by decreasing weight.
    pub matched: Vec<String>,
    pub server: String,
    pub tool: Value,
}

/// What to search for, and how.
#[derive(Clone, Debug)]
pub struct FindRequest {
    pub query: String,
    pub limit: usize,
    /// Whether only words are compared.
    pub by_words: bool,
}

/// Receives how many tools have been embedded, and how many there are.
pub type EmbeddingProgress = Box<dyn Fn(usize, usize) + Send>;

/// The tools that match a query, best first, and how many there are in all.
pub async fn find(
    surface: &Arc<Surface>,
    request: FindRequest,
    progress: EmbeddingProgress,
) -> Result<(Vec<FoundTool>, usize), String> {
    let shared = surface.search_index();
    // Embeddings of queries need this runtime, so the search must not block it.
    let found = tokio::task::spawn_blocking(move || {
        let index = shared.ready();
        let found = if request.by_words {
            index.search_words(&request.query, request.limit)
        } else {
            index.settle(EMBEDDING_WAIT, &progress);
            index.search(&request.query, request.limit)
        };
        (found.into_iter().map(|hit| FoundTool::of(hit, index)).collect(), index.tools().len())
    });
    found.await.map_err(|error| error.to_string())
}

/// Waits until semantic search is available, for as long as [`find`] does.
pub(super) async fn settle(surface: &Arc<Surface>) {
    let shared = surface.search_index();
    // Fails only if the search crashed; the search itself then reports the error.
    let _ = tokio::task::spawn_blocking(move || shared.ready().settle(EMBEDDING_WAIT, &|_, _| {})).await;
}

/// The names of the tools that [`find`] searches.
pub fn searchable(surface: &Arc<Surface>) -> BTreeSet<String> {
    surface.search_index().tools().map(|tool| tool.definition.key().to_owned()).collect()
}

impl FoundTool {
    fn of(hit: Hit, index: &Index) -> Self {
        let tool = &index.tools()[hit.tool];
        let rounded = |number: f32| (f64::from(number) * 1000.0).round() / 1000.0;
        FoundTool {
            score: rounded(hit.score),
            words: rounded(hit.words),
            meaning: hit.meaning.map(rounded),
            similarity: hit.similarity.map(rounded),
            matched: hit.matched,
            server: tool.server.to_string(),
            tool: serde_json::from_str(tool.definition.raw().get()).unwrap_or_default(),
        }
    }
}
