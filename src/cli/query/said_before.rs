//! The last stderr lines of failed servers. Commands print them once and then only when they change, so that a command that
//! is run repeatedly does not repeat them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cli::setup;
use proxy_base::process::atomic_file;

/// Separates the reason for a failure from the last stderr lines of the server.
const LAST_WORDS: &str = "; it last said:";
const FILE: &str = "last-words.json";
/// More entries than anyone has servers. When exceeded, all are dropped.
const MAX_REMEMBERED: usize = 1000;

/// Digests of what was printed, by config and server.
#[derive(Default)]
pub(super) struct SaidBefore {
    file: Option<PathBuf>,
    digests: BTreeMap<String, String>,
    is_changed: bool,
}

impl SaidBefore {
    pub(super) fn read() -> Self {
        let file = setup::cache_folder().map(|folder| folder.join(FILE));
        let text = file.as_ref().and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
        SaidBefore { file, digests: serde_json::from_slice(&text).unwrap_or_default(), is_changed: false }
    }

    /// The error of a server as it is printed now. `source` tells its config from others.
    pub(super) fn shown(&mut self, source: &str, server: &str, error: &str) -> String {
        let Some((reason, _)) = error.split_once(LAST_WORDS) else { return error.to_owned() };
        let key = format!("{source}\0{server}");
        let digest = proxy_json::digest(&serde_json::Value::from(error));
        if self.digests.get(&key) == Some(&digest) {
            return format!("{reason} (`proxy list-servers` shows what it last said)");
        }
        if self.digests.len() >= MAX_REMEMBERED {
            self.digests.clear();
        }
        self.digests.insert(key, digest);
        self.is_changed = true;
        error.to_owned()
    }

    /// Remembers what was printed.
    pub(super) fn save(self) {
        if let (Some(file), true, Ok(text)) = (&self.file, self.is_changed, serde_json::to_vec(&self.digests)) {
            // Without it, the same is printed again.
            let _ = atomic_file::replace(file, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_said_again_when_they_change() {
        let mut said = SaidBefore::default();
        let error = "it exited; it last said: no key";
        assert_eq!(said.shown("a", "s", error), error);
        assert!(said.shown("a", "s", error).starts_with("it exited (`proxy list-servers`"));
        assert_eq!(said.shown("b", "s", error), error, "another config");
        let other = "it exited; it last said:\n  no\n  disk";
        assert_eq!(said.shown("a", "s", other), other);
        assert_eq!(said.shown("a", "t", "cannot connect"), "cannot connect");
    }
}
