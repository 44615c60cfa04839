//! Vectors on disk, each under the digest of its text, so that a text is embedded only once across restarts.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::process::atomic_file;

/// The folder with the vectors of one model; `None` disables the cache.
#[derive(Debug)]
pub(super) struct VectorCache(Option<PathBuf>);

impl VectorCache {
    pub(super) fn new(cache_folder: Option<&Path>, identity: &str) -> Self {
        VectorCache(cache_folder.map(|folder| folder.join("embeddings").join(digest(identity))))
    }

    pub(super) fn load(&self, text: &str) -> Option<Vec<f32>> {
        let bytes = std::fs::read(self.0.as_ref()?.join(digest(text))).ok()?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        let vector: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let is_valid = rest.is_empty() && !vector.is_empty() && vector.iter().all(|number| number.is_finite());
        is_valid.then_some(vector)
    }

    /// Stores a vector. A failure costs one more request later, so it is only logged.
    pub(super) fn save(&self, text: &str, vector: &[f32]) {
        let Some(folder) = &self.0 else { return };
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        if let Err(error) = atomic_file::replace(&folder.join(digest(text)), &bytes) {
            tracing::debug!(%error, "a vector was not cached");
        }
    }
}

fn digest(text: &str) -> String {
    crate::json::hex(&Sha256::digest(text.as_bytes()))
}
