//! Import circles: files that need each other to be understood. The front of a folder (`mod.rs`) does not count; unit tests do
//! not count either.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Modules;
use super::{SourceFile, sources};

/// A circle of more files has to be opened.
const LARGEST_CIRCLE: usize = 3;

pub(super) type Arrows<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn arrows(files: &[SourceFile]) -> Arrows<'_> {
    let mut packages: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files {
        packages.entry(file.package()).or_default().push(file);
    }
    let fronts: BTreeSet<&str> = files.iter().filter(|file| file.is_front()).map(|file| file.path.as_str()).collect();
    let mut arrows = Arrows::new();
    for package in packages.into_values() {
        let modules = Modules::new(package.into_iter());
        for file in modules.files().filter(|file| !file.is_front() && !file.is_test()) {
            let named = modules.named(file, false).into_iter().filter(|path| !fronts.contains(path));
            arrows.insert(&file.path, named.collect());
        }
    }
    arrows
}

fn reachable<'a>(from: &str, arrows: &Arrows<'a>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = arrows.get(from).into_iter().flatten().copied().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(arrows.get(next).into_iter().flatten());
        }
    }
    seen
}

/// The groups of nodes that all reach each other, largest first.
pub(super) fn circles<'a>(arrows: &Arrows<'a>) -> Vec<BTreeSet<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&'a str>> = arrows.keys().map(|file| (*file, reachable(file, arrows))).collect();
    let mut found: BTreeSet<BTreeSet<&'a str>> = BTreeSet::new();
    for (file, others) in reach.iter().filter(|(file, others)| others.contains(*file)) {
        let returns = |other: &&str| reach.get(other).is_some_and(|back| back.contains(file));
        found.insert(others.iter().copied().filter(returns).collect());
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

#[test]
fn no_folder_is_one_import_circle() {
    let files = sources();
    let arrows = arrows(&files);
    let large: Vec<String> = circles(&arrows)
        .into_iter()
        .filter(|circle| circle.len() > LARGEST_CIRCLE)
        .map(|circle| format!("{} files import each other: {}", circle.len(), Vec::from_iter(circle).join(", ")))
        .collect();
    assert!(large.is_empty(), "\n{}", large.join("\n"));
}

#[test]
fn a_circle_is_found_through_use_trees_and_paths() {
    let file = |path: &str, text: &str| SourceFile::new(path, text.to_owned());
    let files = [
        file("crates/x/src/a/one.rs", "use super::{three::Three, two as second};\n"),
        file("crates/x/src/a/two.rs", "fn f() { crate::b::four::go() } // crate::a::one\n"),
        file("crates/x/src/a/three.rs", "use std::fmt;\n\n#[cfg(test)]\nmod tests { use super::super::one; }\n"),
        file("crates/x/src/b/four.rs", "use crate::a::{self, one::{One, Other}};\n"),
        file("crates/x/src/a/mod.rs", "pub use one::One;\n"),
    ];
    let arrows = arrows(&files);
    let at = |name: &str| format!("crates/x/src/{name}.rs");
    assert_eq!(arrows[at("a/one").as_str()], BTreeSet::from([at("a/three").as_str(), at("a/two").as_str()]));
    assert_eq!(arrows[at("a/three").as_str()], BTreeSet::new());
    let found = circles(&arrows);
    assert_eq!(found, [BTreeSet::from([at("a/one").as_str(), at("a/two").as_str(), at("b/four").as_str()])]);
}
