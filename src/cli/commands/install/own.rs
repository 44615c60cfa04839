//! Whether an entry of a client starts this proxy, and not another program that is called `proxy`.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use proxy_base::process::program_in;
use proxy_config::entries::{command_words, is_our_package, is_this_proxy};

pub(super) fn is_ours(entry: &Value) -> bool {
    let words = command_words(entry);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(program) = words.first() else { return false };
    if is_our_package(words.iter().copied()) {
        return true;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    is_this_proxy(words.iter().copied()) && is_own_program(&path, program)
}

/// Whether a program, by its path or its name, is the one that runs now.
fn is_own_program(path: &OsStr, program: &str) -> bool {
    let Ok(own) = std::env::current_exe() else { return false };
    if program.contains('/') {
        return same_file(Path::new(program), &own);
    }
    program_in(path, program).is_some_and(|found| same_file(&found, &own))
}

pub(super) fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
