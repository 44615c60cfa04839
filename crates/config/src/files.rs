//! Reads the files of a config: those given on the command line, and those they include.

use std::path::{Path, PathBuf};

use super::syntax::document::{ConfigDocument, folder_of};
use super::syntax::reader::{ReadContext, ValueReader};
use super::syntax::substitute::VariableLookup;
use super::syntax::tree::{Node, Value};
use proxy_base::diagnostic::{Diagnostic, Location};

/// The texts of config files, as they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReadFiles {
    /// In the order in which they were read. `None` if a file cannot be read.
    pub(super) texts: Vec<(PathBuf, Option<String>)>,
    /// The folders in which globs look for more.
    pub(super) folders: Vec<PathBuf>,
}

/// Reads config files and their includes into one document. A later file overrides an earlier one, and a file overrides the
/// files it includes.
pub(super) struct ConfigFiles<'a> {
    pub(super) document: ConfigDocument,
    pub(super) read: ReadFiles,
    pub(super) problems: Vec<Diagnostic>,
    pub(super) environment: &'a VariableLookup<'a>,
    /// The real paths of the files that are being read, to detect include cycles.
    open: Vec<PathBuf>,
}

impl<'a> ConfigFiles<'a> {
    pub(super) fn new(environment: &'a VariableLookup<'a>) -> Self {
        ConfigFiles {
            document: ConfigDocument::default(),
            read: ReadFiles::default(),
            problems: Vec::new(),
            environment,
            open: Vec::new(),
        }
    }

    /// Reads a file that the command line names.
    pub(super) fn add(&mut self, path: &Path) {
        match read(path) {
            Ok(text) => self.add_text(path, text),
            Err(error) => {
                self.read.texts.push((path.to_owned(), None));
                let problem = format!("cannot read the config file `{}`: {error}", path.display());
                self.problems.push(Diagnostic::error(problem));
            }
        }
    }

    /// Adds a file with this text. Each file is read once: a second include of the same file has no effect.
    pub(super) fn add_text(&mut self, path: &Path, text: String) {
        let parsed = self.document.add_file(path, &text);
        self.read.texts.push((path.to_owned(), Some(text)));
        let root = match parsed {
            Ok(root) => root,
            Err(problem) => return self.problems.push(problem),
        };
        if !matches!(root.value, Value::Map(_) | Value::Null) {
            // The reader says why.
            let context = ReadContext::of_part(&self.document, self.environment);
            let _ = context.at(&root, "").fields();
            self.problems.extend(context.finish());
            return;
        }
        self.open.push(real(path));
        self.include(path, &root);
        self.open.pop();
        self.document.merge(root);
    }

    fn include(&mut self, path: &Path, root: &Node) {
        for (pattern, place) in self.included(root) {
            let folder = path.parent().unwrap_or(Path::new(""));
            let fail = |problem: String| Diagnostic::error(format!("`include`: {problem}")).at(place.clone());
            let is_glob = pattern.contains(['*', '?', '[']);
            let files = match is_glob {
                false => Ok(vec![folder.join(&pattern)]),
                true => self.matching(folder, &pattern, path),
            };
            let files = match files {
                Ok(files) => files,
                Err(problem) => {
                    self.problems.push(fail(problem));
                    continue;
                }
            };
            for file in files {
                if self.open.contains(&real(&file)) {
                    let shown = file.display();
                    self.problems.push(fail(format!("`{shown}` includes itself, directly or indirectly")));
                } else if !self.read.texts.iter().any(|(known, _)| real(known) == real(&file)) {
                    match read(&file) {
                        Ok(text) => self.add_text(&file, text),
                        Err(error) => {
                            let problem = fail(format!("cannot read `{}`: {error}", file.display()));
                            self.problems.push(problem.hint("the path is relative to the folder of this file"));
                            self.read.texts.push((file, None));
                        }
                    }
                }
            }
        }
    }

    fn included(&mut self, root: &Node) -> Vec<(String, Location)> {
        let Some(node) = root.get("include").filter(|node| node.value != Value::Null) else { return Vec::new() };
        let context = ReadContext::of_part(&self.document, self.environment);
        let read = read_include(&context.at(node, "include"));
        self.problems.extend(context.finish());
        read.unwrap_or_default()
    }

    /// The files that a glob matches, in order; never the one that includes them.
    fn matching(&mut self, folder: &Path, pattern: &str, includer: &Path) -> Result<Vec<PathBuf>, String> {
        self.read.folders.push(folder_of(includer).join(folder_without_glob(Path::new(pattern))));
        let folder = folder.to_str().ok_or("the path of this file is not UTF-8")?;
        let whole = Path::new(&glob::Pattern::escape(folder)).join(pattern);
        let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
        let found = glob::glob_with(&whole.to_string_lossy(), options)
            .map_err(|error| format!("`{pattern}` is not a valid glob: {error}"))?;
        let mut files = Vec::new();
        for file in found {
            let file = file.map_err(|error| format!("cannot expand `{pattern}`: {error}"))?;
            if file.is_file() && real(&file) != real(includer) {
                files.push(file);
            }
        }
        Ok(files)
    }
}

/// `include`: paths and globs, each with its place.
pub(super) fn read_include(reader: &ValueReader) -> Option<Vec<(String, Location)>> {
    reader.list(|item| Some((item.word()?, item.place())))
}

/// The folders of a glob before its first wildcard.
fn folder_without_glob(pattern: &Path) -> PathBuf {
    let literal = |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    pattern.components().take_while(literal).collect()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn read(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use crate::testing::{environment, rendered};
    use crate::{Config, ConfigTexts, SessionScript, TransportConfig, load_files};
    use proxy_base::diagnostic::Diagnostic;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let folder = Folder(std::env::temp_dir().join(format!("config-files-{name}-{}", std::process::id())));
            for (file, text) in files {
                folder.write(file, text);
            }
            folder
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn load(&self, files: &[&str]) -> Result<Config, Vec<Diagnostic>> {
            let paths: Vec<PathBuf> = files.iter().map(|file| self.0.join(file)).collect();
            load_files(&paths, &environment).map(|(config, _)| config)
        }

        fn loaded(&self, files: &[&str]) -> Config {
            self.load(files).unwrap_or_else(|errors| panic!("{}", rendered(&errors).join("\n")))
        }

        /// Each error with the name of its file.
        fn errors(&self, files: &[&str]) -> Vec<String> {
            let errors = self.load(files).expect_err("it loads without an error");
            let file = |error: &Diagnostic| error.place.as_ref().map(|place| place.short()).unwrap_or_default();
            errors.iter().map(|error| format!("{} {}", file(error), error.message)).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn command(config: &Config, server: &str) -> (String, Vec<String>, Option<PathBuf>) {
        let TransportConfig::Stdio { command, args, cwd, .. } = &config.servers[server].transport else {
            panic!("not a command")
        };
        (command.clone(), args.clone(), cwd.clone())
    }

    #[test]
    fn later_files_win_key_by_key_and_lists_are_replaced() {
        let folder = Folder::new(
            "merge",
            &[
                (
                    "a.yaml",
                    "mcpServers:\n  one: {command: x, args: [1, 2], cwd: sub, timeout: 5s}\n  two: {command: y}\n  three: {command: z}\n\
                     serve: {path: /a, maxSessions: 7}\n",
                ),
                (
                    "team/b.json",
                    r#"{"mcpServers": {"one": {"args": [3]}, "two": null, "four": {"command": "./w", "cwd": "d"}}, "serve": {"path": "/b"}}"#,
                ),
                ("c.toml", "[mcpServers.one]\ncommand = \"v\"\n"),
            ],
        );
        let config = folder.loaded(&["a.yaml", "team/b.json", "c.toml"]);
        assert_eq!(
            config.servers.keys().collect::<Vec<_>>(),
            ["one", "three", "four"],
            "in the order of first mention"
        );
        let (program, args, cwd) = command(&config, "one");
        assert_eq!((program.as_str(), args), ("v", vec!["3".to_owned()]));
        assert_eq!(cwd, Some(folder.0.join("sub")), "relative to the file that says it");
        let (program, _, cwd) = command(&config, "four");
        assert_eq!((program, cwd), (folder.0.join("team/./w").display().to_string(), Some(folder.0.join("team/d"))));
        assert_eq!((config.serve.path.as_str(), config.serve.max_sessions), ("/b", 7));
        assert_eq!((config.path, config.folder), (Some(folder.0.join("a.yaml")), folder.0.clone()));
    }

    #[test]
    fn the_choice_of_a_script_replaces_the_earlier_one() {
        let folder = Folder::new(
            "script",
            &[
                ("a.yaml", "sessionInit: {preset: read-only, params: {x: 1, y: 2}}\n"),
                ("b.yaml", "sessionInit: {scriptFile: p.star, params: {y: 3}}\n"),
                ("c.yaml", "sessionInit:\n"),
                ("p.star", ""),
            ],
        );
        let config = folder.loaded(&["a.yaml", "b.yaml", "c.yaml"]);
        assert!(matches!(&config.session, SessionScript::File(path) if path.ends_with("p.star")));
        assert_eq!(serde_json::Value::Object(config.params), serde_json::json!({"x": 1, "y": 3}));
    }

    #[test]
    fn a_file_wins_over_those_that_it_includes() {
        let folder = Folder::new(
            "include",
            &[
                ("main.yaml", "include: [base.yaml, 'conf.d/*.yaml']\nserve: {path: /main}\n"),
                ("base.yaml", "mcpServers: {a: {command: base}}\nserve: {path: /base, maxSessions: 3}\n"),
                ("conf.d/1.yaml", "include: [../base.yaml]\nmcpServers: {a: {command: one}, b: {command: ./one}}\n"),
                ("conf.d/2.yaml", "mcpServers: {a: {command: two}}\n"),
                ("conf.d/.hidden.yaml", "serve: {maxSessions: 9}\n"),
            ],
        );
        let config = folder.loaded(&["main.yaml"]);
        assert_eq!(command(&config, "a").0, "two");
        assert_eq!(command(&config, "b").0, folder.0.join("conf.d/./one").display().to_string());
        assert_eq!((config.serve.path.as_str(), config.serve.max_sessions), ("/main", 3));
        let texts = ConfigTexts::read(&config.files, &environment);
        assert_eq!(texts.files.len(), 4);
        assert_eq!(texts.folders, [folder.0.join("conf.d")]);
    }

    #[test]
    fn circles_and_missing_files_are_errors_with_their_lines() {
        let folder = Folder::new(
            "circle",
            &[
                ("a.yaml", "serve: {}\ninclude: [b.yaml]\n"),
                ("b.yaml", "include:\n- a.yaml\n"),
                ("c.yaml", "include: [none.yaml, 'none/*.yaml']\n"),
                ("d.yaml", "include: x\n"),
                ("e.yaml", "include: [bad.yaml]\nserve: {path: /e}\n"),
                ("bad.yaml", "serve:\n  path: a: b\n"),
                ("f.yaml", "serve: {pth: /x}\n"),
                ("g.yaml", "mcpServers: {nobody: }\n"),
                ("h.yaml", "include: ['[a.yaml']\n"),
                ("list.yaml", "- auth\n"),
                ("i.yaml", "include: [list.yaml]\n"),
                ("[x]/main.yaml", "include: ['more/*.yaml']\n"),
                ("[x]/more/a.yaml", "serve: {path: /found}\n"),
            ],
        );
        let found = folder.errors(&["a.yaml"]);
        assert!(found[0].starts_with("b.yaml:2 `include`: `") && found[0].contains("includes itself"), "{found:?}");
        let found = folder.errors(&["c.yaml"]);
        assert!(found.len() == 1 && found[0].starts_with("c.yaml:1 `include`: cannot read `"), "{found:?}");
        assert!(folder.errors(&["d.yaml"])[0].contains("expected a list"));
        assert!(folder.errors(&["e.yaml"])[0].starts_with("bad.yaml:2 invalid YAML"));
        let found = folder.errors(&["e.yaml", "f.yaml", "nowhere.yaml"]);
        assert!(found.iter().any(|error| error.contains("nowhere.yaml")), "{found:?}");
        assert!(folder.errors(&["f.yaml", "g.yaml"])[0].starts_with("f.yaml:1 unknown key `serve.pth`"));
        assert!(folder.errors(&["h.yaml"])[0].contains("is not a valid glob"));
        let found = folder.errors(&["i.yaml"]);
        assert!(found[0].starts_with("list.yaml:1 ") && found[0].contains("expected a map"), "{found:?}");
        assert_eq!(folder.loaded(&["[x]/main.yaml"]).serve.path, "/found");
        let found = folder.errors(&["g.yaml"]);
        assert!(
            found[0].contains("`mcpServers.nobody`: expected a map"),
            "what is not there cannot be removed: {found:?}"
        );
    }
}
