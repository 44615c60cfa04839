//! Lints the scripts of a config: the session script, the extensions, the files they load, and their tests.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::CheckReport;
use crate::lint::{self, Role, is_test};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{Config, ExtensionPath, SessionScript};
use proxy_engine::{extension, gateway};
use proxy_script::Source;

impl CheckReport {
    /// Lints every script of a config.
    pub fn add_scripts(&mut self, config: &Config) {
        let mut seen = HashSet::new();
        if !matches!(config.session, SessionScript::Preset { .. })
            && let Ok(script_source) = gateway::script_source(config, None)
        {
            self.add(lint::with_known(&script_source.source, Role::Session, Some(&script_source.root), &mut seen));
            let own_test = script_source
                .source
                .path
                .as_deref()
                .map(|path| path.with_extension(""))
                .map(|stem| PathBuf::from(format!("{}_test.star", stem.display())));
            if let Some(test) = own_test.filter(|test| test.is_file()) {
                self.add_text(&test, Role::Test, &mut seen);
            }
        }
        self.add(config.extensions.iter().filter_map(not_an_extension));
        // Loading the extensions reports paths that cannot be read.
        let paths = config.extensions.iter().filter_map(|extension| extension::candidates(&extension.path).ok());
        for file in paths.flatten() {
            self.add_text(&file, Role::Extension, &mut seen);
            for test in tests_beside(&file) {
                self.add_text(&test, Role::Test, &mut seen);
            }
        }
    }

    /// Lints a file and the files it loads, except those in `seen`.
    pub fn add_text(&mut self, file: &Path, role: Role, seen: &mut HashSet<String>) {
        match read(file) {
            Ok(source) => self.add(lint::with_known(&source, role, file.parent(), seen)),
            Err(problem) => self.add([problem]),
        }
    }
}

/// A warning for a path in the config that is a file but not an extension. In a folder, such files may be libraries.
fn not_an_extension(configured: &ExtensionPath) -> Option<Diagnostic> {
    let text = configured.path.is_file().then(|| std::fs::read_to_string(&configured.path).ok())??;
    if text.contains("describe_extension") {
        return None;
    }
    let mut problem = Diagnostic::warning(format!(
        "`{}` is not an extension: it does not define `describe_extension()`",
        configured.written
    ))
    .rule("no-extension")
    .hint("add `def describe_extension(): return Extension(name = \"...\", version = \"1.0.0\", tools = [...])`");
    problem.place.clone_from(&configured.place);
    Some(problem)
}

pub fn read(file: &Path) -> Result<Source, Diagnostic> {
    let shown = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| Diagnostic::error(format!("cannot read `{shown}`: {error}")))?;
    Ok(Source::at(shown, text, file))
}

/// The test files in the folder of a file.
fn tests_beside(file: &Path) -> Vec<PathBuf> {
    let entries = file.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let mut tests: Vec<PathBuf> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| is_test(path)).collect();
    tests.sort();
    tests
}
