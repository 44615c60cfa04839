//! One set through the index that the proxy uses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proxy_search::{Embedder, Hit, Index, estimate_tokens};

use crate::data::Set;
use crate::metrics::Quality;

/// How many results are kept, to see what a higher threshold would return.
const DEPTH: usize = 60;

/// A batch of tools takes seconds; after this time without one, the set is given up.
const EMBEDDING_WAIT: Duration = Duration::from_secs(60);

pub struct Measured {
    pub name: String,
    pub tools: usize,
    pub queries: usize,
    pub quality: Quality,
    pub build: Duration,
    /// How long the vectors took, if there are any. What is in the cache takes no time.
    pub embed: Option<Duration>,
    pub half: Duration,
    pub p95: Duration,
    /// Of the tokens of all definitions, what 5 results save.
    pub saved: f64,
    /// The results of each query.
    pub found: Vec<Vec<Hit>>,
}

/// The tools that share a word with the query, or whose cosine is at least this.
pub fn near(hits: &[Hit], least: f32) -> Vec<usize> {
    let is_near = |hit: &&Hit| hit.words > 0.0 || hit.similarity.is_none_or(|cosine| cosine >= least);
    hits.iter().filter(is_near).map(|hit| hit.tool).collect()
}

/// Measures a set. What shares no word with a query is found if its cosine is at least `least`.
pub fn measure(set: &Set, embedder: Option<&Arc<dyn Embedder>>, least: f32) -> Measured {
    let builds: Vec<Duration> = (0..3)
        .map(|_| {
            let tools = set.tools.clone();
            let begin = Instant::now();
            drop(Index::new(tools));
            begin.elapsed()
        })
        .collect();
    let begin = Instant::now();
    let index = match embedder {
        Some(embedder) => Index::with_meaning(set.tools.clone(), Arc::clone(embedder)),
        None => Index::new(set.tools.clone()),
    };
    index.settle(EMBEDDING_WAIT, &|_, _| {});
    let embed = embedder.map(|_| begin.elapsed());
    let costs: Vec<usize> = set.tools.iter().map(|tool| estimate_tokens(tool.definition.raw().get())).collect();
    let all: usize = costs.iter().sum();
    let (mut qualities, mut times, mut saved, mut hits) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let repeats = if embedder.is_some() { 0 } else { 2 };
    for query in &set.queries {
        // The best of three: what other programs take in between is not the search's. A model takes long enough to be
        // measured once.
        let timed = || {
            let begin = Instant::now();
            (std::hint::black_box(index.search(&query.text, DEPTH)), begin.elapsed())
        };
        let (first, mut best) = timed();
        for _ in 0..repeats {
            best = best.min(timed().1);
        }
        times.push(best);
        let found = near(&first, least);
        qualities.push(Quality::of(query, &found));
        let returned: usize = found.iter().take(5).map(|tool| costs[*tool]).sum();
        saved.push(100.0 * (1.0 - returned as f64 / all.max(1) as f64));
        hits.push(first);
    }
    times.sort();
    Measured {
        name: set.name.clone(),
        tools: set.tools.len(),
        queries: set.queries.len(),
        quality: Quality::mean(&qualities),
        build: builds.into_iter().min().unwrap_or_default(),
        embed,
        half: times.get(times.len() / 2).copied().unwrap_or_default(),
        p95: times.get(times.len() * 95 / 100).copied().unwrap_or_default(),
        saved: saved.iter().sum::<f64>() / saved.len().max(1) as f64,
        found: hits,
    }
}
