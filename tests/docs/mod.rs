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
mod spelling;

use std::fs;
use std::path::{Path, PathBuf};

use markdown::Block;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages at the top and below docs/, without the one that is written from doc comments and has tests of its own.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "RELEASING.md"].iter().map(|page| root().join(page)).collect();
    add_pages(&root().join("docs"), &mut pages);
    pages.retain(|page| !page.ends_with("reference/builtins.md"));
    pages.sort();
    pages
}

fn add_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("there are documents").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            add_pages(&path, pages);
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
}

/// All blocks in these languages.
fn blocks(languages: &[&str]) -> Vec<Block> {
    let found = pages().into_iter().flat_map(|page| markdown::blocks(&page));
    found.filter(|block| languages.contains(&block.language.as_str())).collect()
}
