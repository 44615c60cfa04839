//! A script and all files that it loads directly or indirectly, in dependency order.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use starlark::syntax::AstModule;
use starlark::typing::Interface;

use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::presets;
use proxy_script::{Paths, Source, parse, place, resolve};

pub(super) struct LoadGraph {
    root: Option<PathBuf>,
    paths: Paths,
    /// Loaded files before the files that load them.
    pub(super) files: Vec<LoadedFile>,
    /// The keys of the files whose loads are being resolved, to detect cycles.
    resolving: Vec<String>,
}

pub(super) struct LoadedFile {
    /// Identifies the file regardless of how it is written in a `load()`.
    pub(super) key: String,
    pub(super) source: Source,
    pub(super) parsed: Result<AstModule, Diagnostic>,
    /// The files of its `load()` statements: the path as written, and the key.
    loads: Vec<(String, String)>,
    /// Errors of `load()` statements that cannot be resolved.
    pub(super) load_errors: Vec<Diagnostic>,
}

impl LoadedFile {
    /// The types of the names that it loads, by the path as written.
    pub(super) fn interfaces(&self, known: &HashMap<String, Interface>) -> HashMap<String, Interface> {
        self.loads.iter().filter_map(|(id, key)| Some((id.clone(), known.get(key)?.clone()))).collect()
    }
}

impl LoadGraph {
    pub(super) fn new(root: Option<&Path>, paths: Paths) -> Self {
        // The parent of a file name without a folder is the empty path.
        let root = root.map(|root| if root.as_os_str().is_empty() { Path::new(".") } else { root });
        let root = root.and_then(|root| root.canonicalize().ok());
        LoadGraph { root, paths, files: Vec::new(), resolving: Vec::new() }
    }

    /// Adds a file and all files that it loads. Recursive: must run on a big stack.
    pub(super) fn add(&mut self, source: &Source) {
        let key = key(source);
        // Running the script reports cycles.
        if self.resolving.contains(&key) || self.files.iter().any(|file| file.key == key) {
            return;
        }
        let parsed = parse(source);
        let (mut loads, mut load_errors) = (Vec::new(), Vec::new());
        self.resolving.push(key.clone());
        for load in parsed.iter().flat_map(AstModule::loads) {
            match resolve(load.module_id, source, &source.files, self.root.as_deref(), presets::LIBRARY, self.paths) {
                Ok(loaded) => {
                    loads.push((load.module_id.to_owned(), self::key(&loaded)));
                    self.add(&loaded);
                }
                Err(error) => load_errors.push(error.at(place(&load.span))),
            }
        }
        self.resolving.pop();
        self.files.push(LoadedFile { key, source: source.clone(), parsed, loads, load_errors });
    }
}

/// The canonical path, because a file can be written in several ways; the name if it is not a file.
fn key(source: &Source) -> String {
    match source.path.as_deref().and_then(|path| path.canonicalize().ok()) {
        Some(path) => path.display().to_string(),
        None => source.name.clone(),
    }
}
