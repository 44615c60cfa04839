//! The built-in model as an [`Embedder`].

use std::path::Path;
use std::sync::OnceLock;

use parking_lot::Mutex;
use proxy_sentence_encoder::{Encoder, ModelError, ModelFiles};
use tokio::runtime::Handle;

use crate::semantic::vector_cache::VectorCache;
use crate::semantic::{EmbedError, Embedder, Fusion, Nearness, Vector};
use crate::weights::{BUILTIN_MEANING_WEIGHT, MIN_COSINE};
use proxy_fiber::wait;

/// Changes with the weights and with the form of the texts, because old vectors in the cache must not be used then.
const IDENTITY: &str = "builtin minilm-tools-q4 1";

/// The model of this process, unpacked on first use.
static ENCODER: OnceLock<Result<Encoder, ModelError>> = OnceLock::new();

/// Held while tools are embedded: indexes that are built at the same time share one core, and reuse each other's
/// vectors.
static EMBEDDING_TOOLS: Mutex<()> = Mutex::new(());

#[derive(Debug)]
pub struct BuiltinEmbedder {
    vectors: VectorCache,
    /// Queries are computed on its blocking threads, so that the threads of scripts stay free; `None` computes at once.
    runtime: Option<Handle>,
}

impl BuiltinEmbedder {
    /// Fails if a part of the model is missing. Does not unpack it.
    pub fn new(cache_folder: Option<&Path>, runtime: Option<Handle>) -> Result<Self, ModelError> {
        Encoder::check(ModelFiles::builtin())?;
        Ok(BuiltinEmbedder { vectors: VectorCache::new(cache_folder, IDENTITY), runtime })
    }
}

impl Embedder for BuiltinEmbedder {
    fn identity(&self) -> String {
        IDENTITY.to_owned()
    }

    fn fusion(&self) -> Fusion {
        Fusion { meaning_weight: BUILTIN_MEANING_WEIGHT, nearness: Nearness::Cosine(MIN_COSINE) }
    }

    fn embed_tools(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        let _one_at_a_time = EMBEDDING_TOOLS.lock();
        self.vectors.load_or_embed(texts, |missing| Ok(encoder()?.embed(missing)))
    }

    fn embed_query(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        let embed = move || -> Result<Vec<Vector>, EmbedError> {
            let encoder = encoder()?;
            if !texts.first().is_some_and(|query| encoder.understands(query)) {
                return Ok(Vec::new());
            }
            Ok(encoder.embed(&texts).into_iter().map(Into::into).collect())
        };
        match &self.runtime {
            Some(runtime) => wait(runtime.spawn_blocking(embed), runtime)
                .unwrap_or_else(|error| Err(EmbedError::Unavailable(error.to_string()))),
            None => embed(),
        }
    }
}

fn encoder() -> Result<&'static Encoder, EmbedError> {
    let encoder = ENCODER.get_or_init(|| Encoder::new(ModelFiles::builtin()));
    encoder.as_ref().map_err(|error| EmbedError::Unusable(error.to_string()))
}
