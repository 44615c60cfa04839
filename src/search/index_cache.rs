//! The indexes of this process: one for each distinct set of tools, whoever asks for it, made in the background. A set
//! in which little changed reads only what is new.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use sha2::{Digest, Sha256};

use super::analysed::Analysed;
use super::index::{Index, Tool};
use super::semantic::{Embedder, Semantic};
use super::words::Words;

type Key = [u8; 32];

/// Keeps what is in use and forgets the rest.
#[derive(Default)]
pub struct Shelf {
    sets: Mutex<HashMap<Key, Weak<SharedIndex>>>,
    tools: Mutex<HashMap<Key, Weak<Analysed>>>,
}

impl std::fmt::Debug for SharedIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SharedIndex({})", self.count)
    }
}

/// An index that may still be in the making: who needs it waits for it.
pub struct SharedIndex {
    index: OnceLock<Index>,
    tools: Mutex<Vec<(Key, Tool)>>,
    count: usize,
    embedder: Option<Arc<dyn Embedder>>,
    shelf: &'static Shelf,
    /// Kept with it, so that the next set finds them.
    analysed: OnceLock<Vec<Arc<Analysed>>>,
}

impl Shelf {
    pub fn shared() -> &'static Shelf {
        static SHELF: LazyLock<Shelf> = LazyLock::new(Shelf::default);
        &SHELF
    }

    /// The index of these tools. Does not wait for it.
    pub fn index(&'static self, tools: Vec<Tool>, embedder: Option<Arc<dyn Embedder>>) -> Arc<SharedIndex> {
        let keyed: Vec<(Key, Tool)> = tools.into_iter().map(|tool| (key_of(&tool), tool)).collect();
        let mut set = Sha256::new();
        keyed.iter().for_each(|(key, _)| set.update(key));
        set.update(embedder.as_ref().map(|embedder| embedder.identity()).unwrap_or_default());
        let set: Key = set.finalize().into();
        let mut sets = lock(&self.sets);
        sets.retain(|_, index| index.strong_count() > 0);
        if let Some(known) = sets.get(&set).and_then(Weak::upgrade) {
            return known;
        }
        let shared = Arc::new(SharedIndex {
            index: OnceLock::new(),
            count: keyed.len(),
            tools: Mutex::new(keyed),
            embedder,
            shelf: self,
            analysed: OnceLock::new(),
        });
        sets.insert(set, Arc::downgrade(&shared));
        drop(sets);
        start(&shared);
        shared
    }

    fn analyse(&self, keyed: &[(Key, Tool)]) -> Vec<Arc<Analysed>> {
        let known: Vec<Option<Arc<Analysed>>> = {
            let mut tools = lock(&self.tools);
            tools.retain(|_, tool| tool.strong_count() > 0);
            keyed.iter().map(|(key, _)| tools.get(key).and_then(Weak::upgrade)).collect()
        };
        let mut words = Words::new();
        let read = |((_, tool), known): (&(Key, Tool), Option<Arc<Analysed>>)| {
            known.unwrap_or_else(|| Arc::new(Analysed::new(&tool.server, &tool.definition, &mut words)))
        };
        let analysed: Vec<Arc<Analysed>> = keyed.iter().zip(known).map(read).collect();
        let mut tools = lock(&self.tools);
        for ((key, _), analysed) in keyed.iter().zip(&analysed) {
            tools.insert(*key, Arc::downgrade(analysed));
        }
        analysed
    }
}

impl SharedIndex {
    /// The index, when it is complete.
    pub fn ready(&self) -> &Index {
        self.index.get_or_init(|| {
            let keyed = std::mem::take(&mut *lock(&self.tools));
            let analysed = self.analysed.get_or_init(|| self.shelf.analyse(&keyed));
            let meaning =
                self.embedder.clone().map(|embedder| Semantic::start(embedder, keyed.iter().map(|(_, tool)| tool)));
            Index::of(keyed.into_iter().map(|(_, tool)| tool).collect(), analysed, meaning)
        })
    }

    /// Whether the tool at that place was read once for both.
    #[cfg(test)]
    pub(super) fn shares_with(&self, other: &SharedIndex, place: usize) -> bool {
        let at = |index: &SharedIndex| index.analysed.get().and_then(|all| all.get(place).cloned());
        at(self).zip(at(other)).is_some_and(|(one, two)| Arc::ptr_eq(&one, &two))
    }

    /// Whether a search asks a model, which may answer otherwise the next time.
    pub fn asks_a_model(&self) -> bool {
        self.embedder.is_some()
    }

    /// How many tools it has. Does not wait.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Begins the work; should no thread be had, the first search does it.
fn start(shared: &Arc<SharedIndex>) {
    let work = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("search index".into()).spawn(move || {
        work.ready();
    });
    if let Err(error) = thread {
        tracing::warn!(%error, "the search index is made by the first search");
    }
}

fn key_of(tool: &Tool) -> Key {
    let mut digest = Sha256::new();
    digest.update(tool.server.as_bytes());
    digest.update([0]);
    digest.update(tool.definition.raw().get().as_bytes());
    digest.finalize().into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
