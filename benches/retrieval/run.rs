//! One set through the index that the proxy uses.

use std::time::{Duration, Instant};

use starlark_mcp_proxy::search::{Index, estimate_tokens};

use crate::data::Set;
use crate::metrics::Quality;

pub struct Measured {
    pub name: String,
    pub tools: usize,
    pub queries: usize,
    pub quality: Quality,
    pub build: Duration,
    pub half: Duration,
    pub p95: Duration,
    /// Of the tokens of all definitions, what 5 results save.
    pub saved: f64,
}

pub fn measure(set: &Set) -> Measured {
    let builds: Vec<Duration> = (0..3)
        .map(|_| {
            let tools = set.tools.clone();
            let begin = Instant::now();
            drop(Index::new(tools));
            begin.elapsed()
        })
        .collect();
    let index = Index::new(set.tools.clone());
    let costs: Vec<usize> = set.tools.iter().map(|tool| estimate_tokens(tool.definition.raw().get())).collect();
    let all: usize = costs.iter().sum();
    let (mut qualities, mut times, mut saved) = (Vec::new(), Vec::new(), Vec::new());
    for query in &set.queries {
        // The best of three: what other programs take in between is not the search's.
        let timed = || {
            let begin = Instant::now();
            (std::hint::black_box(index.search(&query.text, 10)), begin.elapsed())
        };
        let runs = [timed(), timed(), timed()];
        times.push(runs.iter().map(|(_, time)| *time).min().unwrap_or_default());
        let found: Vec<usize> = runs[0].0.iter().map(|hit| hit.tool).collect();
        qualities.push(Quality::of(query, &found));
        let returned: usize = found.iter().take(5).map(|tool| costs[*tool]).sum();
        saved.push(100.0 * (1.0 - returned as f64 / all.max(1) as f64));
    }
    times.sort();
    Measured {
        name: set.name.clone(),
        tools: set.tools.len(),
        queries: set.queries.len(),
        quality: Quality::mean(&qualities),
        build: builds.into_iter().min().unwrap_or_default(),
        half: times.get(times.len() / 2).copied().unwrap_or_default(),
        p95: times.get(times.len() * 95 / 100).copied().unwrap_or_default(),
        saved: saved.iter().sum::<f64>() / saved.len().max(1) as f64,
    }
}
