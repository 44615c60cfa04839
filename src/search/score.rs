//! The exact score of the candidates: BM25F over the parts of a tool, what neighbours add, what the name's share adds,
//! and what a good server adds.

use std::collections::HashMap;

use super::index::{Document, Vocabulary};
use super::query::{Query, Wanted};
use super::weights::{NAME_COVERAGE, PAIR, SATURATION, SENTENCE, SERVER, SERVER_TOOLS};

/// A candidate with its score.
#[derive(Debug)]
pub(super) struct Scored {
    pub tool: u32,
    pub score: f32,
}

/// Best first; of equals the first.
pub(super) fn score(
    candidates: Vec<u32>,
    documents: &[Document],
    query: &Query,
    vocabulary: &Vocabulary,
) -> Vec<Scored> {
    let place = |number: u32| query.words.iter().position(|wanted| wanted.number == number);
    let pairs: Vec<Pair> = query
        .pairs
        .iter()
        .filter_map(|pair| {
            let worth = PAIR * vocabulary.rarity(pair.0).min(vocabulary.rarity(pair.1));
            Some(Pair { pair: *pair, words: (place(pair.0)?, place(pair.1)?), worth })
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

/// Neighbours in the query.
struct Pair {
    pair: (u32, u32),
    /// As positions in the query's words.
    words: (usize, usize),
    worth: f32,
}

fn own_score(
    tool: u32,
    document: &Document,
    query: &Query,
    pairs: &[Pair],
    vocabulary: &Vocabulary,
    parts: &mut [f32],
) -> Scored {
    let mut said_of_name = 0.0;
    let mut whole = 0.0;
    for (position, wanted) in query.words.iter().enumerate() {
        let weight = document.weight(wanted.number);
        let rarity = vocabulary.rarity(wanted.number);
        parts[position] = rarity * weight * (SATURATION + 1.0) / (weight + SATURATION);
        if weight > 0.0 {
            whole += parts[position] * wanted.weight;
            if document.name.contains(&wanted.number) {
                said_of_name += rarity;
            }
        }
    }
    let mut score = whole;
    if query.sentences.len() > 1 {
        let of = |sentence: &Vec<(usize, f32)>| sentence.iter().map(|(at, weight)| parts[*at] * weight).sum::<f32>();
        let best = query.sentences.iter().map(of).fold(0.0, f32::max);
        score = (1.0 - SENTENCE) * whole + SENTENCE * best;
    }
    for Pair { pair, words, worth } in pairs {
        if parts[words.0] > 0.0 && parts[words.1] > 0.0 {
            score += worth * document.pair(*pair);
        }
    }
    if document.name_mass > 0.0 {
        score *= 1.0 + NAME_COVERAGE * said_of_name / document.name_mass;
    }
    Scored { tool, score }
}

/// The words of the query that a tool has, as they were said, those that count most first.
pub(super) fn matched(document: &Document, query: &Query, vocabulary: &Vocabulary) -> Vec<String> {
    let worth = |wanted: &Wanted| {
        let weight = document.weight(wanted.number);
        wanted.weight * vocabulary.rarity(wanted.number) * weight / (weight + SATURATION)
    };
    let mut found: Vec<(f32, &str)> = query.words.iter().map(|wanted| (worth(wanted), wanted.said.as_str())).collect();
    found.retain(|(worth, _)| *worth > 0.0);
    found.sort_by(|first, second| second.0.total_cmp(&first.0));
    let mut said: Vec<String> = Vec::new();
    for (_, word) in found {
        if !said.iter().any(|known| known == word) {
            said.push(word.to_owned());
        }
    }
    said
}

/// A server several of whose tools fit is more likely to be meant.
fn add_servers(scored: &mut [Scored], documents: &[Document]) {
    let mut best: HashMap<u32, [f32; SERVER_TOOLS]> = HashMap::new();
    for candidate in scored.iter() {
        let top = best.entry(documents[candidate.tool as usize].server).or_default();
        let mut score = candidate.score;
        for place in top {
            if score > *place {
                std::mem::swap(&mut score, place);
            }
        }
    }
    for candidate in scored.iter_mut() {
        let top = &best[&documents[candidate.tool as usize].server];
        candidate.score += SERVER * top.iter().sum::<f32>() / SERVER_TOOLS as f32;
    }
}
