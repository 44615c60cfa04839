//! The exact score of candidates: BM25F over the parts of a tool, with bonuses for adjacent words, for the coverage of
//! the name, and for servers with several matching tools.

use std::collections::HashMap;

use super::indexed_tool::IndexedTool;
use super::query::{QueryWord, WordQuery};
use super::vocabulary::Vocabulary;
use crate::weights::{NAME_COVERAGE, PAIR_WEIGHT, SATURATION, SENTENCE_WEIGHT, SERVER_TOOLS, SERVER_WEIGHT};

/// A candidate with its score.
#[derive(Debug)]
pub(crate) struct Scored {
    pub tool: u32,
    pub score: f32,
}

/// Scores the candidates, by decreasing score and then by position.
pub(crate) fn score(
    candidates: Vec<u32>,
    documents: &[IndexedTool],
    query: &WordQuery,
    vocabulary: &Vocabulary,
) -> Vec<Scored> {
    let position = |number: u32| query.words.iter().position(|word| word.number == number);
    let pairs: Vec<Pair> = query
        .pairs
        .iter()
        .filter_map(|pair| {
            let worth = PAIR_WEIGHT * vocabulary.rarity(pair.0).min(vocabulary.rarity(pair.1));
            Some(Pair { pair: *pair, words: (position(pair.0)?, position(pair.1)?), worth })
        })
        .collect();
    let mut parts = vec![0.0; query.words.len()];
    let mut scored: Vec<Scored> = candidates
        .into_iter()
        .map(|tool| own_score(tool, &documents[tool as usize], query, &pairs, vocabulary, &mut parts))
        .filter(|scored| scored.score > 0.0)
        .collect();
    add_servers(&mut scored, documents);
    scored.sort_by(|first, second| second.score.total_cmp(&first.score).then(first.tool.cmp(&second.tool)));
    scored
}

/// Two adjacent words of the query.
struct Pair {
    pair: (u32, u32),
    /// As positions in the query's words.
    words: (usize, usize),
    worth: f32,
}

fn own_score(
    tool: u32,
    document: &IndexedTool,
    query: &WordQuery,
    pairs: &[Pair],
    vocabulary: &Vocabulary,
    parts: &mut [f32],
) -> Scored {
    let mut covered_name_mass = 0.0;
    let mut whole = 0.0;
    let mut shares_stem = false;
    for (position, word) in query.words.iter().enumerate() {
        let weight = document.weight(word.number);
        let rarity = vocabulary.rarity(word.number);
        parts[position] = rarity * weight * (SATURATION + 1.0) / (weight + SATURATION);
        if weight > 0.0 {
            shares_stem |= word.is_certain;
            whole += parts[position] * word.weight;
            if document.name.contains(&word.number) {
                covered_name_mass += rarity;
            }
        }
    }
    if !shares_stem {
        return Scored { tool, score: 0.0 };
    }
    let mut score = whole;
    if query.sentences.len() > 1 {
        let of = |sentence: &Vec<(usize, f32)>| sentence.iter().map(|(at, weight)| parts[*at] * weight).sum::<f32>();
        let best = query.sentences.iter().map(of).fold(0.0, f32::max);
        score = (1.0 - SENTENCE_WEIGHT) * whole + SENTENCE_WEIGHT * best;
    }
    for Pair { pair, words, worth } in pairs {
        if parts[words.0] > 0.0 && parts[words.1] > 0.0 {
            score += worth * document.pair(*pair);
        }
    }
    if document.name_mass > 0.0 {
        score *= 1.0 + NAME_COVERAGE * covered_name_mass / document.name_mass;
    }
    Scored { tool, score }
}

/// The words of the query that a tool contains, in the spelling of the query and by decreasing weight.
pub(crate) fn matched(document: &IndexedTool, query: &WordQuery, vocabulary: &Vocabulary) -> Vec<String> {
    let worth = |word: &QueryWord| {
        let weight = document.weight(word.number);
        word.weight * vocabulary.rarity(word.number) * weight / (weight + SATURATION)
    };
    let mut found: Vec<(f32, &str)> = query.words.iter().map(|word| (worth(word), word.as_written.as_str())).collect();
    found.retain(|(worth, _)| *worth > 0.0);
    found.sort_by(|first, second| second.0.total_cmp(&first.0));
    let mut as_written: Vec<String> = Vec::new();
    for (_, word) in found {
        if !as_written.iter().any(|known| known == word) {
            as_written.push(word.to_owned());
        }
    }
    as_written
}

/// Adds a share of the server's best scores to each of its tools: a server with several matching tools is more likely
/// to be the right one.
fn add_servers(scored: &mut [Scored], documents: &[IndexedTool]) {
    let mut best: HashMap<u32, [f32; SERVER_TOOLS]> = HashMap::new();
    for candidate in scored.iter() {
        let top = best.entry(documents[candidate.tool as usize].server).or_default();
        let mut score = candidate.score;
        for slot in top {
            if score > *slot {
                std::mem::swap(&mut score, slot);
            }
        }
    }
    for candidate in scored.iter_mut() {
        let top = &best[&documents[candidate.tool as usize].server];
        candidate.score += SERVER_WEIGHT * top.iter().sum::<f32>() / SERVER_TOOLS as f32;
    }
}
