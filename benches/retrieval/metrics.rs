//! How good a ranking is.

use crate::data::Query;

/// Means over queries, in per cent.
#[derive(Clone, Copy, Default)]
pub struct Quality {
    pub recall_1: f64,
    pub recall_5: f64,
    pub recall_10: f64,
    /// The mean of one over the place of the first right tool.
    pub first: f64,
    pub ndcg_5: f64,
}

impl Quality {
    pub fn of(query: &Query, found: &[usize]) -> Self {
        let groups = &query.groups;
        let all = groups.len().max(1) as f64;
        let recall = |limit: usize| {
            let top = &found[..limit.min(found.len())];
            100.0 * groups.iter().filter(|group| top.iter().any(|tool| group.contains(tool))).count() as f64 / all
        };
        let first = found.iter().take(10).position(|tool| groups.iter().any(|group| group.contains(tool)));
        let mut seen = vec![false; groups.len()];
        let mut gain = 0.0;
        for (place, tool) in found.iter().take(5).enumerate() {
            if let Some(group) = (0..groups.len()).find(|group| !seen[*group] && groups[*group].contains(tool)) {
                seen[group] = true;
                gain += discount(place);
            }
        }
        let ideal: f64 = (0..groups.len().min(5)).map(discount).sum();
        Quality {
            recall_1: recall(1),
            recall_5: recall(5),
            recall_10: recall(10),
            first: first.map_or(0.0, |place| 100.0 / (place + 1) as f64),
            ndcg_5: if ideal > 0.0 { 100.0 * gain / ideal } else { 0.0 },
        }
    }

    pub fn mean(all: &[Quality]) -> Quality {
        let mean = |of: fn(&Quality) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Quality {
            recall_1: mean(|quality| quality.recall_1),
            recall_5: mean(|quality| quality.recall_5),
            recall_10: mean(|quality| quality.recall_10),
            first: mean(|quality| quality.first),
            ndcg_5: mean(|quality| quality.ndcg_5),
        }
    }
}

fn discount(place: usize) -> f64 {
    1.0 / ((place + 2) as f64).log2()
}
