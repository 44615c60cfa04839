//! Search by meaning: the vectors that a model gives to texts, beside the words. Whoever makes them is behind
//! [`Embedder`]; until they are there, and whenever they fail, the words alone decide.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::index::Tool;
use super::score::Scored;
use super::text;
use super::weights::LEXICAL;

/// What a model reads of a tool is cut here: small models stop there anyway.
const MOST_TEXT: usize = 2_000;

/// Between two attempts to get the vectors.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// Makes vectors of texts. Blocking; called on threads of its callers.
pub trait Embedder: std::fmt::Debug + Send + Sync {
    /// Which model, of whom: vectors of two identities cannot be compared.
    fn identity(&self) -> String;

    /// A vector for each tool's text. May take long: it is asked in the background.
    fn embed_tools(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a query. Somebody waits for it.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError>;
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EmbedError(pub String);

/// The vectors of the tools of one index.
pub struct Semantic {
    embedder: Arc<dyn Embedder>,
    /// Empty until they are there.
    vectors: OnceLock<Vec<Vec<f32>>>,
}

impl Semantic {
    /// Begins to fetch the vectors, and does not wait.
    pub(super) fn start<'a>(embedder: Arc<dyn Embedder>, tools: impl Iterator<Item = &'a Tool>) -> Arc<Self> {
        let texts: Vec<String> = tools.map(tool_text).collect();
        let meaning = Arc::new(Semantic { embedder, vectors: OnceLock::new() });
        let work = Arc::downgrade(&meaning);
        let thread = std::thread::Builder::new().name("embeddings".into()).spawn(move || keep_trying(&work, &texts));
        if let Err(error) = thread {
            tracing::warn!(%error, "tools are found by their words only");
        }
        meaning
    }

    /// Whether there is nothing left to fetch.
    fn fetch(&self, texts: &[String]) -> bool {
        match self.embedder.embed_tools(texts) {
            Ok(vectors) if vectors.len() == texts.len() => {
                let _ = self.vectors.set(vectors.into_iter().map(unit).collect());
                true
            }
            Ok(vectors) => {
                tracing::warn!(expected = texts.len(), got = vectors.len(), "embeddings are not used: wrong number");
                true
            }
            Err(error) => {
                tracing::warn!(%error, "no embeddings yet: tools are found by their words only");
                false
            }
        }
    }

    /// Waits for the vectors, but not longer than that.
    pub(super) fn settle(&self, limit: Duration) {
        let begin = Instant::now();
        while self.vectors.get().is_none() && begin.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Weighs words and meaning half and half, and adds what only the meaning finds.
    pub(super) fn reorder(&self, text: &str, scored: &mut Vec<Scored>, tools: usize) {
        let Some(vectors) = self.vectors.get().filter(|vectors| vectors.len() == tools) else { return };
        let query = match self.embedder.embed_query(text) {
            Ok(vector) => unit(vector),
            Err(error) => {
                tracing::warn!(%error, "a query is answered by its words only");
                return;
            }
        };
        let near: Vec<f32> = vectors.iter().map(|vector| likeness(&query, vector)).collect();
        let (low, high) = near.iter().fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
        let best = scored.first().map_or(0.0, |best| best.score).max(f32::EPSILON);
        let mut lexical: Vec<Option<Scored>> = (0..tools).map(|_| None).collect();
        for candidate in scored.drain(..) {
            let place = candidate.tool as usize;
            lexical[place] = Some(candidate);
        }
        for (tool, (candidate, near)) in lexical.into_iter().zip(&near).enumerate() {
            let meant = (near - low) / (high - low).max(f32::EPSILON);
            let number = u32::try_from(tool).unwrap_or(u32::MAX);
            let mut candidate = candidate.unwrap_or(Scored { tool: number, score: 0.0 });
            candidate.score = LEXICAL * candidate.score / best + (1.0 - LEXICAL) * meant;
            scored.push(candidate);
        }
        scored.sort_by(|first, second| second.score.total_cmp(&first.score).then(first.tool.cmp(&second.tool)));
    }
}

/// A server that is down now may be there later, as long as anybody searches these tools.
fn keep_trying(meaning: &Weak<Semantic>, texts: &[String]) {
    let mut pause = FIRST_PAUSE;
    while let Some(meaning) = meaning.upgrade() {
        if meaning.fetch(texts) {
            return;
        }
        drop(meaning);
        std::thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

fn tool_text(tool: &Tool) -> String {
    let [name, description, _, server, parameters, _] = text::parts(&tool.server, &tool.definition);
    let mut text = format!("{server} {name}: {description}\n{}", parameters.replace('\n', " "));
    text.truncate(text.floor_char_boundary(MOST_TEXT));
    text
}

/// Of length 1, so that the product of two is their likeness.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

/// Vectors of two lengths are not alike.
fn likeness(first: &[f32], second: &[f32]) -> f32 {
    if first.len() != second.len() {
        return 0.0;
    }
    first.iter().zip(second).map(|(one, two)| one * two).sum()
}
