//! What would be found if tools that share no word with a query had to be nearer to it.

use crate::data::Set;
use crate::metrics::Quality;
use crate::run::{Measured, near};

/// As many tools as `find_tool` returns.
const RETURNED: usize = 8;

pub fn print(sets: &[&Set], measured: &[Measured]) {
    println!("\n| least cosine | R@5 | R@10 | results of {RETURNED} |\n|---|---|---|---|");
    for step in 0u8..=15 {
        let least = f32::from(step) * 0.04;
        let (mut means, mut returned) = (Vec::new(), Vec::new());
        for (set, measured) in sets.iter().zip(measured).filter(|(set, _)| !set.queries.is_empty()) {
            let found: Vec<Vec<usize>> = measured.found.iter().map(|hits| near(hits, least)).collect();
            let qualities: Vec<Quality> =
                set.queries.iter().zip(&found).map(|(query, found)| Quality::of(query, found)).collect();
            means.push(Quality::mean(&qualities));
            let count: usize = found.iter().map(|found| found.len().min(RETURNED)).sum();
            returned.push(count as f64 / found.len() as f64);
        }
        let mean = Quality::mean(&means);
        let returned = returned.iter().sum::<f64>() / returned.len().max(1) as f64;
        println!("| {least:.2} | {:.2} | {:.2} | {returned:.2} |", mean.recall_5, mean.recall_10);
    }
}
