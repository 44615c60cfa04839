//! The immutable search index of one set of tools.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::analyzed_tool::AnalyzedTool;
use super::candidates::Candidates;
use super::indexed_tool::{IndexedTool, mean_lengths};
use super::names::nearest_names;
use super::query::Query;
use super::score::{matched, score};
use super::semantic::Semantic;
use super::tool::Tool;
use super::vocabulary::Vocabulary;
use super::weights::MAX_CANDIDATE_WORDS;
use super::word_analyzer::WordAnalyzer;

/// A tool that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The position of the tool in [`Index::tools`].
    pub tool: usize,
    pub score: f32,
    /// The words of the query that the tool contains, by decreasing weight.
    pub matched: Vec<String>,
}

pub struct Index {
    tools: Vec<Tool>,
    documents: Vec<IndexedTool>,
    vocabulary: Vocabulary,
    /// `None` if tantivy failed, which is not expected in memory. Then every tool is a candidate.
    candidates: Option<Candidates>,
    /// Idle analyzers, reused between queries.
    analyzers: Mutex<Vec<WordAnalyzer>>,
    semantic: Option<Arc<Semantic>>,
}

impl Index {
    pub fn new(tools: Vec<Tool>) -> Self {
        let mut analyzer = WordAnalyzer::new();
        let analyzed = tools.iter().map(|tool| AnalyzedTool::new(&tool.server, &tool.definition, &mut analyzer));
        let analyzed: Vec<Arc<AnalyzedTool>> = analyzed.map(Arc::new).collect();
        Self::of(tools, &analyzed, None)
    }

    pub(super) fn of(tools: Vec<Tool>, analyzed: &[Arc<AnalyzedTool>], semantic: Option<Arc<Semantic>>) -> Self {
        let vocabulary = Vocabulary::new(analyzed);
        let mut servers: HashMap<Arc<str>, u32> = HashMap::new();
        let lengths = mean_lengths(analyzed);
        let mut documents = Vec::with_capacity(tools.len());
        for (tool, analyzed) in tools.iter().zip(analyzed) {
            let next = u32::try_from(servers.len()).unwrap_or(u32::MAX);
            let server = *servers.entry(tool.server.clone()).or_insert(next);
            documents.push(IndexedTool::new(server, analyzed, &lengths, &vocabulary));
        }
        let candidates = Candidates::new(analyzed.iter().map(Arc::as_ref))
            .inspect_err(|error| tracing::warn!(%error, "the search index failed; every search scans all tools"))
            .ok();
        Index { tools, documents, vocabulary, candidates, analyzers: Mutex::default(), semantic }
    }

    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tools that match a description best, by decreasing score.
    pub fn search(&self, text: &str, limit: usize) -> Vec<Hit> {
        self.search_among(text, limit, None)
    }

    /// Like [`Index::search`], but only among the tools that are marked in `among`, by position. The others are left out
    /// before anything is ranked or cut.
    pub fn search_among(&self, text: &str, limit: usize, among: Option<&[bool]>) -> Vec<Hit> {
        let mut analyzer = self.lock().pop().unwrap_or_else(WordAnalyzer::new);
        let query = Query::new(text, &mut analyzer, &self.vocabulary);
        self.lock().push(analyzer);
        let mut scored = score(self.candidates(&query, among), &self.documents, &query, &self.vocabulary);
        if let Some(semantic) = &self.semantic {
            semantic.reorder(text, &mut scored, self.tools.len(), among);
        }
        scored.truncate(limit);
        scored
            .into_iter()
            .map(|scored| (scored.tool as usize, scored.score))
            .map(|(tool, score)| Hit { tool, score, matched: matched(&self.documents[tool], &query, &self.vocabulary) })
            .collect()
    }

    /// Waits for the embeddings of the tools, at most for `timeout`.
    pub fn settle(&self, timeout: Duration) {
        if let Some(semantic) = &self.semantic {
            semantic.settle(timeout);
        }
    }

    /// Suggestions for a name that does not exist, only of the tools that are marked in `among`.
    pub fn nearest_names(&self, name: &str, limit: usize, among: Option<&[bool]>) -> Vec<&str> {
        let key = |position: usize| self.tools[position].definition.key();
        let names: Vec<&str> = (0..self.tools.len()).filter(|position| is_among(among, *position)).map(key).collect();
        let found = self.search_among(name, limit, among).into_iter().map(|hit| key(hit.tool)).collect::<Vec<_>>();
        nearest_names(name, &names, &found, limit)
    }

    fn candidates(&self, query: &Query, among: Option<&[bool]>) -> Vec<u32> {
        let numbers = (0..self.documents.len()).filter(|position| is_among(among, *position));
        let all = || numbers.filter_map(|number| u32::try_from(number).ok()).collect();
        let Some(candidates) = &self.candidates else { return all() };
        // The words are sorted by decreasing rarity.
        let words = query.words.iter().take(MAX_CANDIDATE_WORDS);
        let words = words.map(|word| (self.vocabulary.word(word.number), word.weight));
        candidates.find(words, among).unwrap_or_else(|error| {
            tracing::warn!(%error, "the search index failed; this search scans all tools");
            all()
        })
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<WordAnalyzer>> {
        self.analyzers.lock()
    }
}

/// Whether a search may find the tool at this position.
pub(super) fn is_among(among: Option<&[bool]>, position: usize) -> bool {
    among.is_none_or(|among| among.get(position).copied().unwrap_or(false))
}
