//! What the lock does with changes, as the config says.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::file::LockFile;
use super::ignored_text::IgnoredText;

/// What happens to a changed item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// It is published as it is now, with a warning.
    Warn,
    /// It stays published as approved, and is held if that text is no longer true of it.
    Freeze,
    /// It is held.
    Block,
}

impl LockMode {
    pub const ALL: [LockMode; 3] = [LockMode::Warn, LockMode::Freeze, LockMode::Block];

    pub fn as_str(self) -> &'static str {
        match self {
            LockMode::Warn => "warn",
            LockMode::Freeze => "freeze",
            LockMode::Block => "block",
        }
    }
}

/// The rules for one server.
#[derive(Clone, Debug, PartialEq)]
pub struct LockRules {
    pub mode: LockMode,
    /// Text that changes by itself.
    pub ignore: IgnoredText,
    /// Whether resources are locked, too.
    pub resources: bool,
    /// The digest of the server's program or address in the config.
    pub identity: String,
}

/// A lock in force: the file, and the rules for each locked server.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    pub path: PathBuf,
    /// Whether the file exists. Without it nothing is approved.
    pub is_found: bool,
    pub file: Arc<LockFile>,
    /// By server. A server without rules is not locked.
    pub rules: HashMap<String, LockRules>,
}
