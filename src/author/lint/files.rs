//! A script and every file it loads, directly or not; what is loaded comes first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use starlark::syntax::AstModule;
use starlark::typing::Interface;

use crate::builtins::presets;
use crate::diagnostic::Diagnostic;
use crate::script::{Paths, Source, parse, place, resolve};

pub struct Files {
    root: Option<PathBuf>,
    paths: Paths,
    pub(super) found: Vec<File>,
    open: Vec<String>,
}

pub(super) struct File {
    pub(super) key: String,
    pub(super) source: Source,
    pub(super) parsed: Result<AstModule, Diagnostic>,
    /// What `load()` calls it, and which file that is.
    loads: Vec<(String, String)>,
    /// Files that cannot be loaded.
    pub(super) faults: Vec<Diagnostic>,
}

impl File {
    /// What is known of the types of the names it loads.
    pub(super) fn interfaces(&self, known: &HashMap<String, Interface>) -> HashMap<String, Interface> {
        self.loads.iter().filter_map(|(id, key)| Some((id.clone(), known.get(key)?.clone()))).collect()
    }
}

impl Files {
    pub fn new(root: Option<&Path>, paths: Paths) -> Self {
        // The folder of a file that is named without one.
        let root = root.map(|root| if root.as_os_str().is_empty() { Path::new(".") } else { root });
        Files { root: root.and_then(|root| root.canonicalize().ok()), paths, found: Vec::new(), open: Vec::new() }
    }

    /// Every file that was found.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.found.iter().map(|file| &file.source)
    }

    /// Takes a file and all that it loads. Call it on a big stack.
    pub fn add(&mut self, source: &Source) {
        let key = key(source);
        // A circle is told by the run.
        if self.open.contains(&key) || self.found.iter().any(|file| file.key == key) {
            return;
        }
        let parsed = parse(source);
        let (mut loads, mut faults) = (Vec::new(), Vec::new());
        self.open.push(key.clone());
        for load in parsed.iter().flat_map(AstModule::loads) {
            match resolve(load.module_id, source, &source.files, self.root.as_deref(), presets::LIBRARY, self.paths) {
                Ok(loaded) => {
                    loads.push((load.module_id.to_owned(), self::key(&loaded)));
                    self.add(&loaded);
                }
                Err(complaint) => faults.push(complaint.at(place(&load.span))),
            }
        }
        self.open.pop();
        self.found.push(File { key, source: source.clone(), parsed, loads, faults });
    }
}

/// Two spellings of one file are one file.
fn key(source: &Source) -> String {
    match source.path.as_deref().and_then(|path| path.canonicalize().ok()) {
        Some(path) => path.display().to_string(),
        None => source.name.clone(),
    }
}
