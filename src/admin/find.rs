//! Search, as `find_tool` does it, with scores.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::surface::Surface;

/// How long to wait for the vectors of an embedding server. After that, the word score alone decides.
const EMBEDDING_WAIT: Duration = Duration::from_secs(30);

/// A tool that was found.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoundTool {
    pub score: f64,
    /// The words of the query that the tool contains, by decreasing weight.
    pub matched: Vec<String>,
    pub server: String,
    pub tool: Value,
}

/// The tools that match a query, best first, and how many there are in all.
pub async fn find(surface: &Arc<Surface>, words: String, limit: usize) -> Result<(Vec<FoundTool>, usize), String> {
    let shared = surface.search_index();
    // Requests to an embedding server run on this runtime, so the search must not block it.
    let found = tokio::task::spawn_blocking(move || {
        let index = shared.ready();
        index.settle(EMBEDDING_WAIT);
        let found = index.search(&words, limit).into_iter().map(|hit| {
            let tool = &index.tools()[hit.tool];
            FoundTool {
                score: (f64::from(hit.score) * 1000.0).round() / 1000.0,
                matched: hit.matched,
                server: tool.server.to_string(),
                tool: serde_json::from_str(tool.definition.raw().get()).unwrap_or_default(),
            }
        });
        (found.collect(), index.tools().len())
    });
    found.await.map_err(|error| error.to_string())
}
