//! The house rules that the compiler does not know: circles between files and folders, who prints, how long a file is. Which
//! crate may use which is Cargo's to know; `crates` keeps the picture of it.

mod circles;
mod crates;
mod folders;
mod imports;
mod request_way;
mod style;

use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 500;

struct SourceFile {
    /// Relative to the package, for messages.
    path: String,
    /// The crate it belongs to; for the program, the module: `cli`, `admin`, `console`.
    module: String,
    /// The module path within its crate: `crates/wire/src/http/mod.rs` is `http`.
    inner: Vec<String>,
    text: String,
}

impl SourceFile {
    fn new(path: &str, text: String) -> Self {
        let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
        let (module, inner) = match parts.as_slice() {
            ["crates", name, "src", inner @ ..] => (*name, inner),
            ["src", inner @ ..] => (inner.first().copied().unwrap_or_default(), inner),
            _ => panic!("{path} belongs to no crate"),
        };
        let inner = inner.iter().filter(|part| !["mod", "lib", "main"].contains(part));
        SourceFile {
            path: path.to_owned(),
            module: module.to_owned(),
            inner: inner.map(|part| (*part).to_owned()).collect(),
            text,
        }
    }

    /// The crate, or the program.
    fn package(&self) -> &str {
        if self.path.starts_with("crates/") { &self.module } else { "program" }
    }

    /// Whether it is the front of its folder.
    fn is_front(&self) -> bool {
        ["/mod.rs", "/lib.rs", "/main.rs"].iter().any(|name| self.path.ends_with(name))
    }

    fn is_test(&self) -> bool {
        self.inner.iter().any(|part| part == "tests" || part.ends_with("_tests"))
    }

    /// The code without comments and without its unit tests.
    fn code(&self) -> String {
        let before_tests = self.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = before_tests.lines().map(|line| line.split("//").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn sources() -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect(&root.join("src"), &mut paths);
    for entry in fs::read_dir(root.join("crates")).expect("the folder can be read").flatten() {
        let folder = entry.path().join("src");
        if folder.is_dir() {
            collect(&folder, &mut paths);
        }
    }
    paths.sort();
    let files = paths.into_iter().map(|path| {
        let shown = path.strip_prefix(root).expect("it is below the package").display().to_string();
        SourceFile::new(&shown, fs::read_to_string(&path).expect("it is text"))
    });
    files.collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// Lines of code, without comments, that hold one of these words, in files where `allowed` says no.
fn mentions(words: &[&str], allowed: impl Fn(&SourceFile) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in sources().iter().filter(|file| !allowed(file)) {
        for (number, line) in file.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if words.iter().any(|word| code.contains(word)) {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    found
}

#[test]
fn only_the_command_line_prints() {
    let printing = ["println!", "print!(", "eprint", "stdout()", "stderr()"];
    let found = mentions(&printing, |file| {
        // The streams that the protocol runs on are opened in one place of `wire`.
        file.module == "cli" || file.path == "crates/wire/src/stdio.rs"
    });
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn only_the_script_side_names_the_starlark_crate() {
    let allowed = ["script", "builtins", "code-mode", "author"];
    let found = mentions(&["starlark::"], |file| {
        allowed.contains(&file.module.as_str()) || file.path.starts_with("crates/engine/src/extension/")
    });
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn only_the_edges_name_transports() {
    let edges = ["wire", "mcp-client", "host-io", "cli", "config", "server"];
    let found = mentions(&["reqwest::", "hyper::", "StdioTransport", "HttpTransport"], |file| {
        edges.contains(&file.module.as_str())
    });
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    let libraries = mentions(&["reqwest::", "hyper::"], |file| ["wire", "host-io"].contains(&file.module.as_str()));
    assert!(libraries.is_empty(), "\n{}", libraries.join("\n"));
}

#[test]
fn no_file_is_long() {
    let long: Vec<String> = sources()
        .iter()
        .map(|file| (file.text.lines().count(), &file.path))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, path)| format!("{path}: {lines} lines, at most {LONGEST_FILE}"))
        .collect();
    assert!(long.is_empty(), "\n{}", long.join("\n"));
}
