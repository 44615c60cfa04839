//! A directory that goes away with the test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::patience::within;
use super::stderr_log::StderrLog;

#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
}

impl TempDir {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("proxy-test-{}-{number}", std::process::id()));
        // An earlier process with this id may have been killed before it could clean up.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("cannot make a temporary directory");
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, with the directories above it, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        let parent = path.parent().expect("a file has a parent");
        std::fs::create_dir_all(parent).expect("cannot make a directory");
        std::fs::write(&path, text).expect("cannot write a file");
        path
    }

    /// What another process writes to this file, once it is there.
    pub async fn appearing(&self, name: &str, log: &StderrLog) -> String {
        let there = async {
            loop {
                if let Ok(text) = std::fs::read_to_string(self.path.join(name)) {
                    return text;
                }
                // No event tells of another process's file.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        within(&format!("the file {name}"), log, there).await
    }

    pub fn directory(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).expect("cannot make a directory");
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A process that is just ending may still write here; what is left is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
