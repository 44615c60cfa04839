//! The immutable search index of one set of tools.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::names::nearest_names;
use super::semantic::{Embedder, Ranked, ToolVectors};
use super::tool::{Tool, is_among};
use super::weights::MAX_CANDIDATE_WORDS;
use super::words::analyzed_tool::AnalyzedTool;
use super::words::candidates::Candidates;
use super::words::indexed_tool::{IndexedTool, mean_lengths};
use super::words::query::WordQuery;
use super::words::score::{matched, score};
use super::words::vocabulary::Vocabulary;
use super::words::word_analyzer::WordAnalyzer;

/// A tool that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The position of the tool in [`Index::tools`].
    pub tool: usize,
    pub score: f32,
    /// What the words of the query add to the score.
    pub words: f32,
    /// What the meaning of the query adds to the score; `None` if only words were compared.
    pub meaning: Option<f32>,
    /// The cosine similarity of the tool and the query, if the meaning was compared.
    pub similarity: Option<f32>,
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
    vectors: Option<Arc<ToolVectors>>,
}

impl Index {
    pub fn new(tools: Vec<Tool>) -> Self {
        Self::analyzing(tools, None)
    }

    /// An index that finds tools by their meaning too, once the embedder has read them in the background.
    pub fn with_meaning(tools: Vec<Tool>, embedder: Arc<dyn Embedder>) -> Self {
        Self::analyzing(tools, Some(embedder))
    }

    fn analyzing(tools: Vec<Tool>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let mut analyzer = WordAnalyzer::new();
        let analyzed = tools.iter().map(|tool| AnalyzedTool::new(&tool.server, &tool.definition, &mut analyzer));
        let analyzed: Vec<Arc<AnalyzedTool>> = analyzed.map(Arc::new).collect();
        Self::of(tools, &analyzed, embedder)
    }

    pub(super) fn of(tools: Vec<Tool>, analyzed: &[Arc<AnalyzedTool>], embedder: Option<Arc<dyn Embedder>>) -> Self {
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
        let vectors = embedder.map(|embedder| ToolVectors::start(embedder, tools.iter()));
        Index { tools, documents, vocabulary, candidates, analyzers: Mutex::default(), vectors }
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
        self.run(text, limit, among, self.vectors.as_deref())
    }

    /// Like [`Index::search`], by words alone.
    pub fn search_words(&self, text: &str, limit: usize) -> Vec<Hit> {
        self.run(text, limit, None, None)
    }

    fn run(&self, text: &str, limit: usize, among: Option<&[bool]>, vectors: Option<&ToolVectors>) -> Vec<Hit> {
        let mut analyzer = self.lock().pop().unwrap_or_else(WordAnalyzer::new);
        let query = WordQuery::new(text, &mut analyzer, &self.vocabulary);
        self.lock().push(analyzer);
        let scored = score(self.candidates(&query, among), &self.documents, &query, &self.vocabulary);
        let similarities = vectors.and_then(|vectors| Some((vectors.fusion(), vectors.similarities(text)?)));
        let mut ranked: Vec<Ranked> = match similarities {
            Some((fusion, similarities)) => fusion.fuse(&scored, &similarities, among),
            None => scored.iter().map(Ranked::by_words).collect(),
        };
        ranked.truncate(limit);
        let hit = |ranked: Ranked| Hit {
            tool: ranked.tool,
            score: ranked.score,
            words: ranked.words,
            meaning: ranked.meaning,
            similarity: ranked.similarity,
            matched: matched(&self.documents[ranked.tool], &query, &self.vocabulary),
        };
        ranked.into_iter().map(hit).collect()
    }

    /// Waits for the embeddings of the tools, until none has arrived for as long as `timeout`, or ten times as long if the
    /// embedder is only slow. `report` is told how many have arrived, and how many there will be.
    pub fn settle(&self, timeout: Duration, report: &dyn Fn(usize, usize)) {
        if let Some(vectors) = &self.vectors {
            vectors.settle(timeout, report);
        }
    }

    /// Suggestions for a name that does not exist, only of the tools that are marked in `among`.
    pub fn nearest_names(&self, name: &str, limit: usize, among: Option<&[bool]>) -> Vec<&str> {
        let key = |position: usize| self.tools[position].definition.key();
        let names: Vec<&str> = (0..self.tools.len()).filter(|position| is_among(among, *position)).map(key).collect();
        let found = self.search_among(name, limit, among).into_iter().map(|hit| key(hit.tool)).collect::<Vec<_>>();
        nearest_names(name, &names, &found, limit)
    }

    fn candidates(&self, query: &WordQuery, among: Option<&[bool]>) -> Vec<u32> {
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
