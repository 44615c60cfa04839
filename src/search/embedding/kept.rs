//! Vectors on disk, each under the digest of what it was made of: a text is embedded once, whoever restarts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// The folder of one model's vectors; none keeps nothing.
#[derive(Debug)]
pub(super) struct Kept(Option<PathBuf>);

impl Kept {
    pub(super) fn new(cache_folder: Option<&Path>, identity: &str) -> Self {
        Kept(cache_folder.map(|folder| folder.join("embeddings").join(digest(identity))))
    }

    pub(super) fn load(&self, text: &str) -> Option<Vec<f32>> {
        let bytes = std::fs::read(self.0.as_ref()?.join(digest(text))).ok()?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        let vector: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let whole = rest.is_empty() && !vector.is_empty() && vector.iter().all(|number| number.is_finite());
        whole.then_some(vector)
    }

    /// Losing one costs a request, so that nothing more than a line in the log comes of it.
    pub(super) fn save(&self, text: &str, vector: &[f32]) {
        let Some(folder) = &self.0 else { return };
        if let Err(error) = write(folder, &digest(text), vector) {
            tracing::debug!(%error, "a vector was not kept");
        }
    }
}

/// Never half a file: another process may read it at any time.
fn write(folder: &Path, name: &str, vector: &[f32]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    std::fs::create_dir_all(folder)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!("{name}.{}.{number}", std::process::id()));
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    std::fs::write(&draft, bytes)?;
    std::fs::rename(&draft, folder.join(name))
}

fn digest(text: &str) -> String {
    crate::json::hex(&Sha256::digest(text.as_bytes()))
}
