//! Whether an entry of a client starts this proxy, and not another program that is called `proxy`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use proxy_base::process::{find_program, is_executable};
use proxy_config::entries::{command_words, is_our_package, is_this_proxy};

/// Also an entry whose program is gone: who installed it is not known, and it starts nothing else.
pub(in crate::cli::commands) fn is_ours(entry: &Value) -> bool {
    let words = command_words(entry);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(program) = words.first() else { return false };
    if is_our_package(words.iter().copied()) {
        return true;
    }
    is_this_proxy(words.iter().copied()) && started(program).is_none_or(|file| is_own_program(&file))
}

/// The file that a client starts for this word; `None` if there is none.
fn started(program: &str) -> Option<PathBuf> {
    if !program.contains('/') {
        return find_program(program, |name| std::env::var_os(name)).ok().map(|found| found.file);
    }
    let file = PathBuf::from(program);
    // Where a relative path leads is the client's choice.
    let is_there = file.is_relative() || file.is_file() && is_executable(&file);
    is_there.then_some(file)
}

/// Whether a program is the one that runs now.
fn is_own_program(file: &Path) -> bool {
    std::env::current_exe().is_ok_and(|own| same_file(file, &own))
}

pub(super) fn is_same_path(one: &Path, other: &Path) -> bool {
    one == other || same_file(one, other)
}

pub(super) fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
