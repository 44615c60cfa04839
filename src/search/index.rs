//! The index of one set of tools: made once, never changed, asked by many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::analysed::Analysed;
use super::candidates::Candidates;
use super::names::nearest_names;
use super::query::Query;
use super::score::{matched, score};
use super::semantic::Semantic;
use super::typos::Misspelt;
use super::weights::{ALL, CANDIDATE_WORDS, LENGTH, PARTS};
use super::words::Words;
use crate::model::Definition;

/// What is indexed of a tool: which server it is of, and its definition.
#[derive(Clone, Debug)]
pub struct Tool {
    pub server: Arc<str>,
    pub definition: Arc<Definition>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its place among the tools that were indexed.
    pub tool: usize,
    pub score: f32,
    /// The words of the query that it has, those that count most first.
    pub matched: Vec<String>,
}

/// All words of an index.
pub(super) struct Vocabulary {
    numbers: HashMap<Arc<str>, u32>,
    words: Vec<Arc<str>>,
    rarity: Vec<f32>,
    misspelt: Misspelt,
}

impl Vocabulary {
    pub(super) fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// What a word is worth: the fewer tools have it, the more.
    pub(super) fn rarity(&self, number: u32) -> f32 {
        self.rarity[number as usize]
    }

    pub(super) fn near(&self, word: &str) -> Vec<u32> {
        self.misspelt.near(word, |number| &self.words[number as usize])
    }
}

/// A tool with its words as numbers.
pub(super) struct Document {
    pub server: u32,
    /// By number.
    words: Vec<(u32, f32)>,
    pairs: Vec<((u32, u32), f32)>,
    pub name: Vec<u32>,
    /// What the words of the name are worth together.
    pub name_mass: f32,
}

impl Document {
    pub(super) fn weight(&self, number: u32) -> f32 {
        self.words.binary_search_by_key(&number, |(known, _)| *known).map_or(0.0, |at| self.words[at].1)
    }

    pub(super) fn pair(&self, pair: (u32, u32)) -> f32 {
        self.pairs.binary_search_by_key(&pair, |(known, _)| *known).map_or(0.0, |at| self.pairs[at].1)
    }
}

pub struct Index {
    tools: Vec<Tool>,
    documents: Vec<Document>,
    vocabulary: Vocabulary,
    /// None where tantivy failed, which it has no reason to in memory: then every tool is a candidate.
    candidates: Option<Candidates>,
    words: Mutex<Vec<Words>>,
    meaning: Option<Arc<Semantic>>,
}

impl Index {
    pub fn new(tools: Vec<Tool>) -> Self {
        let mut words = Words::new();
        let analysed = tools.iter().map(|tool| Analysed::new(&tool.server, &tool.definition, &mut words));
        let analysed: Vec<Arc<Analysed>> = analysed.map(Arc::new).collect();
        Self::of(tools, &analysed, None)
    }

    pub(super) fn of(tools: Vec<Tool>, analysed: &[Arc<Analysed>], meaning: Option<Arc<Semantic>>) -> Self {
        let vocabulary = vocabulary(analysed);
        let mut servers: HashMap<Arc<str>, u32> = HashMap::new();
        let lengths = mean_lengths(analysed);
        let mut documents = Vec::with_capacity(tools.len());
        for (tool, analysed) in tools.iter().zip(analysed) {
            let next = u32::try_from(servers.len()).unwrap_or(u32::MAX);
            let server = *servers.entry(tool.server.clone()).or_insert(next);
            documents.push(document(server, analysed, &lengths, &vocabulary));
        }
        let candidates = Candidates::new(analysed.iter().map(Arc::as_ref))
            .inspect_err(|error| tracing::warn!(%error, "tools are searched without an index"))
            .ok();
        Index { tools, documents, vocabulary, candidates, words: Mutex::default(), meaning }
    }

    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tools that fit a description best, best first.
    pub fn search(&self, text: &str, limit: usize) -> Vec<Hit> {
        let mut words = self.lock().pop().unwrap_or_else(Words::new);
        let query = Query::new(text, &mut words, &self.vocabulary);
        self.lock().push(words);
        let mut scored = score(self.candidates(&query), &self.documents, &query, &self.vocabulary);
        if let Some(meaning) = &self.meaning {
            meaning.reorder(text, &mut scored, self.tools.len());
        }
        scored.truncate(limit);
        scored
            .into_iter()
            .map(|scored| (scored.tool as usize, scored.score))
            .map(|(tool, score)| Hit { tool, score, matched: matched(&self.documents[tool], &query, &self.vocabulary) })
            .collect()
    }

    /// Waits until the vectors of the tools are there too, but not longer than that.
    pub fn settle(&self, limit: Duration) {
        if let Some(meaning) = &self.meaning {
            meaning.settle(limit);
        }
    }

    /// The names that somebody may have meant by one that does not exist.
    pub fn nearest_names(&self, name: &str, limit: usize) -> Vec<&str> {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.definition.key()).collect();
        let found = self.search(name, limit).into_iter().map(|hit| names[hit.tool]).collect::<Vec<_>>();
        nearest_names(name, &names, &found, limit)
    }

    fn candidates(&self, query: &Query) -> Vec<u32> {
        let all = || (0..self.documents.len()).filter_map(|number| u32::try_from(number).ok()).collect();
        let Some(candidates) = &self.candidates else { return all() };
        // The rarest come first.
        let words = query.words.iter().take(CANDIDATE_WORDS).map(|wanted| {
            let word: &str = &self.vocabulary.words[wanted.number as usize];
            (word, wanted.weight)
        });
        candidates.find(words).unwrap_or_else(|error| {
            tracing::warn!(%error, "a search went without the index");
            all()
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Words>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn vocabulary(tools: &[Arc<Analysed>]) -> Vocabulary {
    let mut numbers: HashMap<Arc<str>, u32> = HashMap::new();
    let mut words: Vec<Arc<str>> = Vec::new();
    let mut counts: Vec<u32> = Vec::new();
    for (word, _) in tools.iter().flat_map(|tool| &tool.words) {
        let next = u32::try_from(words.len()).unwrap_or(u32::MAX);
        let number = *numbers.entry(word.clone()).or_insert(next);
        if number == next {
            words.push(word.clone());
            counts.push(0);
        }
        counts[number as usize] += 1;
    }
    let all = tools.len() as f32;
    let rarity = counts.iter().map(|count| *count as f32).map(|some| (1.0 + (all - some + 0.5) / (some + 0.5)).ln());
    let rarity = rarity.collect();
    let misspelt = Misspelt::new(words.iter().map(Arc::as_ref));
    Vocabulary { numbers, words, rarity, misspelt }
}

fn mean_lengths(tools: &[Arc<Analysed>]) -> [f32; PARTS] {
    let mut means = [0.0; PARTS];
    for tool in tools {
        for (mean, length) in means.iter_mut().zip(tool.lengths) {
            *mean += length as f32 / tools.len() as f32;
        }
    }
    means
}

fn document(server: u32, tool: &Analysed, means: &[f32; PARTS], vocabulary: &Vocabulary) -> Document {
    let numbers: Vec<u32> = tool.words.iter().filter_map(|(word, _)| vocabulary.number(word)).collect();
    let mut norms = [0.0; PARTS];
    for part in 0..PARTS {
        norms[part] = ALL[part].1 / (1.0 - LENGTH + LENGTH * tool.lengths[part] as f32 / means[part].max(f32::EPSILON));
    }
    let weight = |counts: &[u16; PARTS]| counts.iter().zip(norms).map(|(count, norm)| f32::from(*count) * norm).sum();
    let mut words: Vec<(u32, f32)> =
        numbers.iter().zip(&tool.words).map(|(number, (_, counts))| (*number, weight(counts))).collect();
    words.sort_by_key(|(number, _)| *number);
    let at = |position: u32| numbers[position as usize];
    let mut pairs: Vec<_> = tool.pairs.iter().map(|((one, two), weight)| ((at(*one), at(*two)), *weight)).collect();
    pairs.sort_by_key(|(pair, _)| *pair);
    let name: Vec<u32> = tool.name.iter().map(|position| at(*position)).collect();
    let name_mass = name.iter().map(|number| vocabulary.rarity(*number)).sum();
    Document { server, words, pairs, name, name_mass }
}
