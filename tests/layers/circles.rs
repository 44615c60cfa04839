//! Import circles: files of `src/` that need each other to be understood. A `mod.rs` is the front of its folder and does
//! not count; unit tests do not count either.

use std::collections::{BTreeMap, BTreeSet};

use super::{SourceFile, sources};

/// A circle of more files has to be opened.
const LARGEST_CIRCLE: usize = 3;

type ModulePath = Vec<String>;

/// The module that a file is: `src/wire/http/mod.rs` is `wire::http`.
fn module_of(path: &str) -> ModulePath {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let mut parts: ModulePath = inner.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

fn is_front(path: &str) -> bool {
    ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name))
}

/// The code of a file without comments and without its unit tests.
fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = before_tests.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path below `crate`, `super` or `self` that the code names; lists in braces are expanded.
fn paths(code: &str) -> Vec<ModulePath> {
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|before| before.is_alphanumeric() || "_$:".contains(before)) {
                continue;
            }
            expand(Vec::new(), &code[at..], &mut found);
        }
    }
    found
}

/// Reads one path of a use tree; returns what is behind it.
fn expand<'a>(mut prefix: ModulePath, mut rest: &'a str, found: &mut Vec<ModulePath>) -> &'a str {
    loop {
        rest = rest.trim_start();
        if let Some(list) = rest.strip_prefix('{') {
            rest = list;
            loop {
                rest = expand(prefix.clone(), rest, found).trim_start();
                match rest.strip_prefix(',') {
                    Some(next) if !next.trim_start().starts_with('}') => rest = next,
                    _ => break,
                }
            }
            rest = rest.trim_start_matches([',', ' ', '\n']);
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        prefix.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(deeper) => rest = deeper,
            None => {
                found.push(prefix);
                // An alias changes nothing.
                let renamed = rest.trim_start().strip_prefix("as ");
                return renamed
                    .map_or(rest, |alias| alias.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
            }
        }
    }
}

/// The file that a path in another file leads to.
fn target<'a>(from: &str, path: &[String], files: &BTreeMap<ModulePath, &'a str>) -> Option<&'a str> {
    let mut base = module_of(from);
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        _ => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
    }
    let full: ModulePath = base.into_iter().chain(rest.iter().cloned()).collect();
    (1..=full.len()).rev().find_map(|length| files.get(&full[..length]).copied())
}

type Arrows<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn arrows(files: &[SourceFile]) -> Arrows<'_> {
    let by_module: BTreeMap<ModulePath, &str> =
        files.iter().map(|file| (module_of(&file.path), file.path.as_str())).collect();
    let is_test = |path: &str| path.contains("/tests") || path.ends_with("tests.rs");
    let mut arrows = Arrows::new();
    for file in files.iter().filter(|file| !is_front(&file.path) && !is_test(&file.path)) {
        let targets = paths(&code(&file.text)).into_iter().filter_map(|path| target(&file.path, &path, &by_module));
        let targets = targets.filter(|target| *target != file.path && !is_front(target));
        arrows.insert(&file.path, targets.collect());
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

/// The groups of files that all reach each other, largest first.
fn circles<'a>(arrows: &Arrows<'a>) -> Vec<BTreeSet<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&'a str>> = arrows.keys().map(|file| (*file, reachable(file, arrows))).collect();
    let mut found: BTreeSet<BTreeSet<&'a str>> = BTreeSet::new();
    for others in reach.iter().filter(|(file, others)| others.contains(*file)).map(|(file, others)| {
        others.iter().copied().filter(|other| reach.get(other).is_some_and(|back| back.contains(file))).collect()
    }) {
        found.insert(others);
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
    let file = |path: &str, text: &str| SourceFile { path: path.into(), module: String::new(), text: text.into() };
    let files = [
        file("src/a/one.rs", "use super::{three::Three, two as second};\n"),
        file("src/a/two.rs", "fn f() { crate::b::four::go() } // crate::a::one\n"),
        file("src/a/three.rs", "use std::fmt;\n\n#[cfg(test)]\nmod tests { use super::super::one; }\n"),
        file("src/b/four.rs", "use crate::a::{self, one::{One, Other}};\n"),
        file("src/a/mod.rs", "pub use one::One;\n"),
    ];
    let arrows = arrows(&files);
    assert_eq!(arrows["src/a/one.rs"], BTreeSet::from(["src/a/three.rs", "src/a/two.rs"]));
    assert_eq!(arrows["src/a/three.rs"], BTreeSet::new());
    let found = circles(&arrows);
    assert_eq!(found, [BTreeSet::from(["src/a/one.rs", "src/a/two.rs", "src/b/four.rs"])]);
}
