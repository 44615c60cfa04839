//! A tool as its words: made once for a definition, used by every index that has it.

use std::collections::HashMap;
use std::sync::Arc;

use super::text;
use super::weights::{PAIR_PARTS, PARTS, Part};
use super::words::Words;
use crate::model::Definition;

/// Who writes more than this into one part of a definition is not found by what comes after it.
const MOST_WORDS: usize = 5_000;

#[derive(Debug)]
pub(super) struct Analysed {
    /// Every word, and how often it is in each part.
    pub words: Vec<(Arc<str>, [u16; PARTS])>,
    pub lengths: [u32; PARTS],
    /// The words of the name, each once, as positions in `words`.
    pub name: Vec<u32>,
    /// Neighbours, as positions in `words`, and what they count.
    pub pairs: Vec<((u32, u32), f32)>,
}

impl Analysed {
    pub(super) fn new(server: &str, definition: &Definition, words: &mut Words) -> Self {
        let mut found: HashMap<Arc<str>, u32> = HashMap::new();
        let mut analysed = Analysed { words: Vec::new(), lengths: [0; PARTS], name: Vec::new(), pairs: Vec::new() };
        let mut pairs: HashMap<(u32, u32), f32> = HashMap::new();
        for (part, text) in text::parts(server, definition).iter().enumerate() {
            let pair = PAIR_PARTS.iter().find(|(known, _)| *known as usize == part).map(|(_, weight)| *weight);
            let mut before = None;
            let mut taken = 0;
            words.each(text, |stem, _| {
                if taken == MOST_WORDS {
                    return;
                }
                taken += 1;
                let at = match found.get(stem) {
                    Some(at) => *at,
                    None => {
                        let at = u32::try_from(analysed.words.len()).unwrap_or(u32::MAX);
                        let stem: Arc<str> = stem.into();
                        found.insert(stem.clone(), at);
                        analysed.words.push((stem, [0; PARTS]));
                        at
                    }
                };
                let count = &mut analysed.words[at as usize].1[part];
                *count = count.saturating_add(1);
                analysed.lengths[part] += 1;
                if part == Part::Name as usize && !analysed.name.contains(&at) {
                    analysed.name.push(at);
                }
                if let (Some(before), Some(weight)) = (before, pair) {
                    let best = pairs.entry((before, at)).or_insert(0.0);
                    *best = best.max(weight);
                }
                before = Some(at);
            });
        }
        analysed.pairs = pairs.into_iter().collect();
        analysed
    }
}
