//! The paths that a file names, and the files that they lead to.

use std::collections::{BTreeMap, BTreeSet};

use super::SourceFile;

pub(super) type ModulePath = Vec<String>;

/// Every path below `crate`, `super` or `self` that the code names; lists in braces are expanded.
pub(super) fn paths(code: &str) -> Vec<ModulePath> {
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
    found.into_iter().map(|(path, _)| path).collect()
}

/// Reads one path of a use tree; returns what is behind it. Each path comes with the name that it has here.
fn expand<'a>(mut prefix: ModulePath, mut rest: &'a str, found: &mut Vec<(ModulePath, String)>) -> &'a str {
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
        if let Some(deeper) = rest.strip_prefix("::") {
            rest = deeper;
            continue;
        }
        let own = prefix.last().cloned().unwrap_or_default();
        let Some(alias) = rest.trim_start().strip_prefix("as ") else {
            found.push((prefix, own));
            return rest;
        };
        let behind = alias.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
        found.push((prefix, alias[..alias.len() - behind.len()].to_owned()));
        return behind;
    }
}

/// The files of one crate, by their modules.
pub(super) struct Modules<'a> {
    files: BTreeMap<ModulePath, &'a SourceFile>,
    /// What a module gives out under a name: the path where it comes from.
    given_out: BTreeMap<(ModulePath, String), ModulePath>,
}

impl<'a> Modules<'a> {
    pub(super) fn new(files: impl Iterator<Item = &'a SourceFile>) -> Self {
        let files: BTreeMap<ModulePath, &SourceFile> = files.map(|file| (file.inner.clone(), file)).collect();
        let mut given_out = BTreeMap::new();
        for (module, file) in &files {
            for (path, name) in reexports(&file.code()) {
                let full = module.iter().cloned().chain(path).collect();
                given_out.insert((module.clone(), name), full);
            }
        }
        Modules { files, given_out }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &'a SourceFile> {
        self.files.values().copied()
    }

    /// The file that defines what a path in another file names, also if a front gives it out.
    pub(super) fn definition(&self, from: &SourceFile, path: &[String]) -> Option<&'a SourceFile> {
        let mut full = absolute(from, path);
        // No name is given out more often than folders are deep.
        for _ in 0..8 {
            let length = (0..=full.len()).rev().find(|length| self.files.contains_key(&full[..*length]))?;
            let next = full.get(length).map(|name| (full[..length].to_vec(), name.clone()));
            match next.and_then(|key| self.given_out.get(&key)) {
                Some(origin) => full = origin.iter().chain(&full[length + 1..]).cloned().collect(),
                None => return self.files.get(&full[..length]).copied(),
            }
        }
        None
    }

    /// The file that a path leads to, as it is written.
    pub(super) fn target(&self, from: &SourceFile, path: &[String]) -> Option<&'a SourceFile> {
        let full = absolute(from, path);
        (1..=full.len()).rev().find_map(|length| self.files.get(&full[..length]).copied())
    }

    /// The files that a file names, by one of the two ways above.
    pub(super) fn named(&self, file: &SourceFile, by_definition: bool) -> BTreeSet<&'a str> {
        let find = |path: ModulePath| match by_definition {
            true => self.definition(file, &path),
            false => self.target(file, &path),
        };
        let found = paths(&file.code()).into_iter().filter_map(find);
        found.map(|file| file.path.as_str()).filter(|path| *path != file.path).collect()
    }
}

/// A path from the root of the crate.
fn absolute(from: &SourceFile, path: &[String]) -> ModulePath {
    let mut base = from.inner.clone();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some("crate") => {
            base.clear();
            rest = &rest[1..];
        }
        Some("self") => rest = &rest[1..],
        _ => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
    }
    base.into_iter().chain(rest.iter().cloned()).collect()
}

/// What a module gives out of the modules below it, with the names there.
fn reexports(code: &str) -> Vec<(ModulePath, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].trim_end();
        let is_public = before.ends_with("pub") || (before.ends_with(')') && before.contains("pub("));
        if is_public && before.lines().next_back().is_some_and(|line| line.trim_start().starts_with("pub")) {
            expand(Vec::new(), &code[at + "use ".len()..], &mut found);
        }
    }
    found.retain(|(path, _)| !["crate", "super", "self"].contains(&path[0].as_str()));
    found
}
