//! Tests of the documents: every block runs, parses or loads, every link has a target, the reference of the built-ins
//! matches their doc comments, and the pages about the command line and the config list exactly what exists.

mod blocks;
mod cli_page;
mod config_page;
mod console;
mod executables;
mod first_minutes;
mod links;
mod markdown;
mod reference;
mod script_tests;
mod scripts;

use std::fs;
use std::path::{Path, PathBuf};

use markdown::Block;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md, CONTRIBUTING.md and docs/*.md.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    let entries = fs::read_dir(root().join("docs")).expect("there are documents").flatten();
    pages.extend(entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "md")));
    pages.sort();
    pages
}

/// All blocks in these languages.
fn blocks(languages: &[&str]) -> Vec<Block> {
    let found = pages().into_iter().flat_map(|page| markdown::blocks(&page));
    found.filter(|block| languages.contains(&block.language.as_str())).collect()
}
