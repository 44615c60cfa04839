//! Runs after the tests and says what they did not show: those of the second set, and those that were skipped because
//! something is missing on this machine.

#![expect(clippy::print_stdout, reason = "this is what a person reads at the end of `cargo test`")]

#[path = "support/skipped_tests.rs"]
mod skipped_tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn main() {
    // With a filter, or a set that was chosen, nobody expects all of them.
    if std::env::args().len() == 1 {
        print_ignored();
    }
    print_skipped();
}

fn print_ignored() {
    let mut ignored = BTreeMap::new();
    collect_ignored(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), "", &mut ignored);
    let count: usize = ignored.values().map(Vec::len).sum();
    println!("\nNot run: the {count} tests of the second set. `cargo test -- --ignored` runs them.");
    for (reason, names) in ignored {
        println!("  {reason}: {}", names.join(", "));
    }
}

fn print_skipped() {
    let file = skipped_tests::file(env!("CARGO_TARGET_TMPDIR"));
    let skipped = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(file);
    let skipped: BTreeSet<&str> = skipped.lines().collect();
    if !skipped.is_empty() {
        println!("\nSkipped, because something is missing on this machine: {} tests.", skipped.len());
        skipped.iter().for_each(|line| println!("  {line}"));
    }
}

/// The tests with `#[ignore = "reason"]` below a folder, by reason.
fn collect_ignored(folder: &Path, module: &str, found: &mut BTreeMap<String, Vec<String>>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let inner = if stem == "mod" { module.to_owned() } else { format!("{module}{stem}::") };
        if path.is_dir() {
            collect_ignored(&path, &inner, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            collect_from(&fs::read_to_string(&path).unwrap_or_default(), &inner, found);
        }
    }
}

fn collect_from(source: &str, module: &str, found: &mut BTreeMap<String, Vec<String>>) {
    let mut reason = None;
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#[ignore = \"") {
            reason = rest.strip_suffix("\"]");
        } else if let Some((_, rest)) = line.split_once("fn ")
            && let Some(reason) = reason.take()
        {
            let name = rest.split('(').next().unwrap_or_default();
            found.entry(reason.to_owned()).or_default().push(format!("{module}{name}"));
        }
    }
}
