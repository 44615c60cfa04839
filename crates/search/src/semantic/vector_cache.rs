//! Vectors by the digest of their text: on disk, so that a text is embedded only once across restarts, and in memory, where
//! all indexes with the same tool share its vector.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Weak;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::{EmbedError, Vector};
use proxy_base::process::atomic_file;

/// The vectors of one model.
#[derive(Debug)]
pub(super) struct VectorCache {
    /// `None` disables the cache on disk.
    folder: Option<PathBuf>,
    /// Those in use.
    shared: Mutex<HashMap<String, Weak<[f32]>>>,
}

impl VectorCache {
    pub(super) fn new(cache_folder: Option<&Path>, identity: &str) -> Self {
        let folder = cache_folder.map(|folder| folder.join("embeddings").join(digest(identity)));
        VectorCache { folder, shared: Mutex::default() }
    }

    /// One vector per text; `embed` computes those that are not known.
    pub(super) fn load_or_embed(
        &self,
        texts: &[String],
        embed: impl FnOnce(&[String]) -> Result<Vec<Vec<f32>>, EmbedError>,
    ) -> Result<Vec<Vector>, EmbedError> {
        self.shared.lock().retain(|_, vector| vector.strong_count() > 0);
        let keys: Vec<String> = texts.iter().map(|text| digest(text)).collect();
        let mut vectors: Vec<Option<Vector>> = keys.iter().map(|key| self.load(key)).collect();
        let missing: Vec<usize> = (0..texts.len()).filter(|position| vectors[*position].is_none()).collect();
        if !missing.is_empty() {
            let unknown: Vec<String> = missing.iter().map(|position| texts[*position].clone()).collect();
            for (position, vector) in missing.into_iter().zip(embed(&unknown)?) {
                self.save(&keys[position], &vector);
                vectors[position] = Some(self.share(&keys[position], vector));
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }

    fn load(&self, key: &str) -> Option<Vector> {
        if let Some(vector) = self.shared.lock().get(key).and_then(Weak::upgrade) {
            return Some(vector);
        }
        let bytes = std::fs::read(self.folder.as_ref()?.join(key)).ok()?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        let vector: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let is_valid = rest.is_empty() && !vector.is_empty() && vector.iter().all(|number| number.is_finite());
        is_valid.then(|| self.share(key, vector))
    }

    fn share(&self, key: &str, vector: Vec<f32>) -> Vector {
        let vector = unit(vector);
        self.shared.lock().insert(key.to_owned(), std::sync::Arc::downgrade(&vector));
        vector
    }

    /// Stores a vector. A failure costs time later, so it is only logged.
    fn save(&self, key: &str, vector: &[f32]) {
        let Some(folder) = &self.folder else { return };
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        if let Err(error) = atomic_file::replace(&folder.join(key), &bytes) {
            tracing::debug!(%error, "a vector was not cached");
        }
    }
}

/// Normalizes a vector to length 1, so that the dot product of two is their cosine similarity.
pub(super) fn unit(mut vector: Vec<f32>) -> Vector {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector.into()
}

fn digest(text: &str) -> String {
    proxy_json::hex(&Sha256::digest(text.as_bytes()))
}
