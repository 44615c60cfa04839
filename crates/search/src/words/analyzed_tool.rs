//! The words of a tool. A definition is analyzed once, and every index that contains it shares the result.

use std::collections::HashMap;
use std::sync::Arc;

use super::word_analyzer::WordAnalyzer;
use crate::tool;
use crate::weights::{PAIR_PART_WEIGHTS, PART_COUNT, ToolPart};
use proxy_model::Definition;

/// Maximum number of words that are indexed per part of a definition.
const MAX_WORDS: usize = 5_000;

#[derive(Debug)]
pub(crate) struct AnalyzedTool {
    /// Every word with its frequency in each part.
    pub words: Vec<(Arc<str>, [u16; PART_COUNT])>,
    pub lengths: [u32; PART_COUNT],
    /// The distinct words of the name, as positions in `words`.
    pub name: Vec<u32>,
    /// Adjacent words, as positions in `words`, with their weight.
    pub pairs: Vec<((u32, u32), f32)>,
}

impl AnalyzedTool {
    pub(crate) fn new(server: &str, definition: &Definition, words: &mut WordAnalyzer) -> Self {
        let mut found: HashMap<Arc<str>, u32> = HashMap::new();
        let mut analyzed =
            AnalyzedTool { words: Vec::new(), lengths: [0; PART_COUNT], name: Vec::new(), pairs: Vec::new() };
        let mut pairs: HashMap<(u32, u32), f32> = HashMap::new();
        for (part, text) in tool::parts(server, definition).iter().enumerate() {
            let pair = PAIR_PART_WEIGHTS.iter().find(|(known, _)| *known as usize == part).map(|(_, weight)| *weight);
            let mut before = None;
            let mut count = 0;
            words.each(text, |stem, _| {
                if count == MAX_WORDS {
                    return;
                }
                count += 1;
                let at = match found.get(stem) {
                    Some(at) => *at,
                    None => {
                        let at = u32::try_from(analyzed.words.len()).unwrap_or(u32::MAX);
                        let stem: Arc<str> = stem.into();
                        found.insert(stem.clone(), at);
                        analyzed.words.push((stem, [0; PART_COUNT]));
                        at
                    }
                };
                let frequency = &mut analyzed.words[at as usize].1[part];
                *frequency = frequency.saturating_add(1);
                analyzed.lengths[part] += 1;
                if part == ToolPart::Name as usize && !analyzed.name.contains(&at) {
                    analyzed.name.push(at);
                }
                if let (Some(before), Some(weight)) = (before, pair) {
                    let best = pairs.entry((before, at)).or_insert(0.0);
                    *best = best.max(weight);
                }
                before = Some(at);
            });
        }
        analyzed.pairs = pairs.into_iter().collect();
        analyzed
    }
}
