//! Combines word scores with semantic similarities.

use crate::tool::is_among;
use crate::weights::MAX_NEAREST;
use crate::words::score::Scored;

/// How much the meaning counts, and when it alone is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fusion {
    /// The share of the meaning in the score; the words have the rest.
    pub meaning_weight: f32,
    pub nearness: Nearness,
}

/// When a tool that shares no word with a query is near enough to be found. The score alone cannot tell: the best of bad
/// candidates has a high one too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nearness {
    /// At this cosine. For a known model.
    Cosine(f32),
    /// At this place between the least similar candidate (0) and the most similar one (1). For a model whose cosines are not
    /// known.
    Range(f32),
}

/// A tool that was found, with the parts of its score.
#[derive(Debug)]
pub(crate) struct Ranked {
    pub tool: usize,
    pub score: f32,
    /// What the words add to the score.
    pub words: f32,
    /// What the meaning adds to the score; `None` if only words were compared.
    pub meaning: Option<f32>,
    /// The cosine similarity of the tool and the query.
    pub similarity: Option<f32>,
}

impl Ranked {
    /// A tool that was found by words alone.
    pub(crate) fn by_words(scored: &Scored) -> Self {
        Ranked { tool: scored.tool as usize, score: scored.score, words: scored.score, meaning: None, similarity: None }
    }
}

impl Fusion {
    /// Ranks the tools that were found by words (by decreasing score) together with those that are nearest in meaning.
    /// `similarities` has one value per tool.
    pub(crate) fn fuse(&self, scored: &[Scored], similarities: &[f32], among: Option<&[bool]>) -> Vec<Ranked> {
        let best = scored.first().map_or(0.0, |best| best.score);
        let mut words = vec![0.0; similarities.len()];
        let mut candidates = nearest(similarities, among);
        for found in scored {
            words[found.tool as usize] = found.score;
            candidates.push(found.tool as usize);
        }
        candidates.sort_unstable();
        candidates.dedup();
        let of_candidates = candidates.iter().map(|tool| similarities[*tool]);
        let (low, high) = of_candidates.fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
        let range = high - low;
        let mut ranked = Vec::with_capacity(candidates.len());
        for tool in candidates {
            let similarity = similarities[tool];
            let relative = if range > f32::EPSILON { (similarity - low) / range } else { 1.0 };
            if words[tool] <= 0.0 && !self.nearness.holds(similarity, relative) {
                continue;
            }
            let lexical = if best > 0.0 { (1.0 - self.meaning_weight) * words[tool] / best } else { 0.0 };
            let meaning = self.meaning_weight * relative;
            ranked.push(Ranked {
                tool,
                score: lexical + meaning,
                words: lexical,
                meaning: Some(meaning),
                similarity: Some(similarity),
            });
        }
        ranked.sort_by(|first, second| second.score.total_cmp(&first.score).then(first.tool.cmp(&second.tool)));
        ranked
    }
}

impl Nearness {
    fn holds(self, similarity: f32, relative: f32) -> bool {
        match self {
            Nearness::Cosine(least) => similarity >= least,
            Nearness::Range(least) => relative >= least,
        }
    }
}

/// The tools that are nearest in meaning, in no particular order.
fn nearest(similarities: &[f32], among: Option<&[bool]>) -> Vec<usize> {
    let mut tools: Vec<usize> = (0..similarities.len()).filter(|tool| is_among(among, *tool)).collect();
    if tools.len() > MAX_NEAREST {
        let by_similarity =
            |one: &usize, two: &usize| similarities[*two].total_cmp(&similarities[*one]).then(one.cmp(two));
        tools.select_nth_unstable_by(MAX_NEAREST, by_similarity);
        tools.truncate(MAX_NEAREST);
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSINE: Fusion = Fusion { meaning_weight: 0.7, nearness: Nearness::Cosine(0.2) };

    fn scored(found: &[(u32, f32)]) -> Vec<Scored> {
        found.iter().map(|(tool, score)| Scored { tool: *tool, score: *score }).collect()
    }

    #[test]
    fn words_and_meaning_add_up_to_the_score() {
        let ranked = COSINE.fuse(&scored(&[(1, 8.0), (0, 2.0)]), &[0.9, 0.1, 0.5, 0.15], None);
        let tools: Vec<usize> = ranked.iter().map(|ranked| ranked.tool).collect();
        assert_eq!(tools, [0, 2, 1], "the last one shares no word and is far away");
        for ranked in &ranked {
            assert!((ranked.words + ranked.meaning.unwrap() - ranked.score).abs() < 1e-6, "{ranked:?}");
        }
        assert!((ranked[0].score - (0.3 * 0.25 + 0.7)).abs() < 1e-6, "{ranked:?}");
    }

    #[test]
    fn what_may_not_be_found_changes_nothing() {
        let everything = COSINE.fuse(&scored(&[(1, 8.0)]), &[0.5, 0.3], None);
        let filtered = COSINE.fuse(&scored(&[(1, 8.0)]), &[0.5, 0.3, 0.9, -0.9], Some(&[true, true, false, false]));
        let scores = |ranked: &[Ranked]| ranked.iter().map(|ranked| (ranked.tool, ranked.score)).collect::<Vec<_>>();
        assert_eq!(scores(&everything), scores(&filtered));
    }

    #[test]
    fn only_the_nearest_of_many_are_candidates() {
        let similarities: Vec<f32> = (0..1_000).map(|tool| tool as f32 / 1_000.0).collect();
        let ranked = COSINE.fuse(&[], &similarities, None);
        assert_eq!(
            (ranked.len(), ranked[0].tool, ranked[MAX_NEAREST - 1].tool),
            (MAX_NEAREST, 999, 1_000 - MAX_NEAREST)
        );
    }
}
