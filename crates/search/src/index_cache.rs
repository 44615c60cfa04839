//! The search indexes of this process: one per distinct set of tools, shared by all surfaces and built in the
//! background. A new set reuses the analysis of the tools that have not changed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};

use super::index::Index;
use super::semantic::Embedder;
use super::tool::Tool;
use super::words::analyzed_tool::AnalyzedTool;
use super::words::word_analyzer::WordAnalyzer;

type Digest256 = [u8; 32];

/// Weak references to all indexes and analyzed tools in use.
#[derive(Default)]
pub struct IndexCache {
    sets: Mutex<HashMap<Digest256, Weak<SharedIndex>>>,
    tools: Mutex<HashMap<Digest256, Weak<AnalyzedTool>>>,
}

impl std::fmt::Debug for SharedIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SharedIndex({})", self.tools.len())
    }
}

/// An index that may still be under construction.
pub struct SharedIndex {
    index: OnceLock<Index>,
    tools: Vec<(Digest256, Tool)>,
    embedder: Option<Arc<dyn Embedder>>,
    cache: &'static IndexCache,
    /// Strong references, so that the next set of tools finds them in the cache.
    analyzed: OnceLock<Vec<Arc<AnalyzedTool>>>,
}

impl IndexCache {
    pub fn shared() -> &'static IndexCache {
        static CACHE: LazyLock<IndexCache> = LazyLock::new(IndexCache::default);
        &CACHE
    }

    /// The index of these tools, possibly still under construction.
    pub fn index(&'static self, tools: Vec<Tool>, embedder: Option<Arc<dyn Embedder>>) -> Arc<SharedIndex> {
        let keyed: Vec<(Digest256, Tool)> = tools.into_iter().map(|tool| (digest_of(&tool), tool)).collect();
        let mut set = Sha256::new();
        keyed.iter().for_each(|(key, _)| set.update(key));
        set.update(embedder.as_ref().map(|embedder| embedder.identity()).unwrap_or_default());
        let set: Digest256 = set.finalize().into();
        let mut sets = lock(&self.sets);
        sets.retain(|_, index| index.strong_count() > 0);
        if let Some(known) = sets.get(&set).and_then(Weak::upgrade) {
            return known;
        }
        let shared = Arc::new(SharedIndex {
            index: OnceLock::new(),
            tools: keyed,
            embedder,
            cache: self,
            analyzed: OnceLock::new(),
        });
        sets.insert(set, Arc::downgrade(&shared));
        drop(sets);
        start(&shared);
        shared
    }

    fn analyze(&self, keyed: &[(Digest256, Tool)]) -> Vec<Arc<AnalyzedTool>> {
        let known: Vec<Option<Arc<AnalyzedTool>>> = {
            let mut tools = lock(&self.tools);
            tools.retain(|_, tool| tool.strong_count() > 0);
            keyed.iter().map(|(key, _)| tools.get(key).and_then(Weak::upgrade)).collect()
        };
        let mut words = WordAnalyzer::new();
        let read = |((_, tool), known): (&(Digest256, Tool), Option<Arc<AnalyzedTool>>)| {
            known.unwrap_or_else(|| Arc::new(AnalyzedTool::new(&tool.server, &tool.definition, &mut words)))
        };
        let analyzed: Vec<Arc<AnalyzedTool>> = keyed.iter().zip(known).map(read).collect();
        let mut tools = lock(&self.tools);
        for ((key, _), analyzed) in keyed.iter().zip(&analyzed) {
            tools.insert(*key, Arc::downgrade(analyzed));
        }
        analyzed
    }
}

impl SharedIndex {
    /// The complete index; blocks until it has been built.
    pub fn ready(&self) -> &Index {
        self.index.get_or_init(|| {
            let analyzed = self.analyzed.get_or_init(|| self.cache.analyze(&self.tools));
            Index::of(self.tools().cloned().collect(), analyzed, self.embedder.clone())
        })
    }

    /// The tools, in the order of the index. Does not wait for the index.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// Whether both indexes share the analysis of the tool at this position.
    #[cfg(test)]
    pub(super) fn shares_with(&self, other: &SharedIndex, position: usize) -> bool {
        let at = |index: &SharedIndex| index.analyzed.get().and_then(|all| all.get(position).cloned());
        at(self).zip(at(other)).is_some_and(|(one, two)| Arc::ptr_eq(&one, &two))
    }

    /// Computes the embeddings of queries; `None` if searches are by words alone.
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// Whether searches use an embedding model, so that the same query may have another result later.
    pub fn asks_a_model(&self) -> bool {
        self.embedder.is_some()
    }

    /// The number of tools. Does not wait for the index.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

/// Builds the index on a thread of its own. If the thread cannot be started, the first search builds it.
fn start(shared: &Arc<SharedIndex>) {
    let work = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("search index".into()).spawn(move || {
        work.ready();
    });
    if let Err(error) = thread {
        tracing::warn!(%error, "no thread for the search index; the first search will build it");
    }
}

fn digest_of(tool: &Tool) -> Digest256 {
    let mut digest = Sha256::new();
    digest.update(tool.server.as_bytes());
    digest.update([0]);
    digest.update(tool.original_name.as_bytes());
    digest.update([0]);
    digest.update(tool.definition.raw().get().as_bytes());
    digest.finalize().into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
