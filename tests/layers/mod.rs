//! The house rules of `src/` that the compiler does not know: which module may use which, who prints, how long a file is.

mod circles;
mod request_way;

use std::fs;
use std::path::{Path, PathBuf};

/// A module uses lower layers only, and modules of one layer do not use each other.
const LAYERS: [&[&str]; 14] = [
    &["bounded_regex"],
    &["address", "backoff", "control", "diagnostic", "foreign_text", "json", "memory", "process", "seal", "watch"],
    &["fiber", "model"],
    &["store", "host_io"],
    &["wire", "script", "config", "typings"],
    &["bearer", "backend", "cedar", "oauth", "sandbox", "search", "telemetry"],
    &["builtins"],
    &["extension", "surface"],
    &["calls"],
    &["gateway"],
    &["server", "author"],
    &["admin"],
    &["console"],
    &["cli"],
];

const LONGEST_FILE: usize = 500;

struct SourceFile {
    /// Relative to the package, for messages.
    path: String,
    /// The top-level module it belongs to; empty for `main.rs` and `lib.rs`.
    module: String,
    text: String,
}

fn sources() -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect(&root.join("src"), &mut paths);
    paths.sort();
    let files = paths.into_iter().map(|path| {
        let shown = path.strip_prefix(root).expect("it is below the package").display().to_string();
        let module = shown.split('/').nth(1).unwrap_or_default().trim_end_matches(".rs");
        let module = if ["main", "lib"].contains(&module) { "" } else { module };
        SourceFile { module: module.to_owned(), text: fs::read_to_string(&path).expect("it is text"), path: shown }
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

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The top-level modules a line names by `crate::`, also as the list of `use crate::{...}`.
fn used(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let mut modules = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `$crate::` and `some_crate::` are something else.
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => modules.extend(list.split(',').map(first_word)),
            None => modules.push(first_word(rest)),
        }
    }
    modules.retain(|module| !module.is_empty());
    modules
}

fn first_word(text: &str) -> String {
    text.trim().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// What breaks the rule about layers in one file, as `file:line: ...`.
fn breaches(file: &SourceFile) -> Vec<String> {
    let Some(own) = layer(&file.module) else {
        let free = file.module.is_empty();
        return if free { Vec::new() } else { vec![format!("{}: `{}` has no layer", file.path, file.module)] };
    };
    let mut found = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for module in used(line).into_iter().filter(|module| *module != file.module) {
            let problem = match layer(&module) {
                Some(other) if other < own => continue,
                Some(other) => format!("`{}` (layer {own}) uses `{module}` (layer {other})", file.module),
                None => format!("`{module}` has no layer"),
            };
            found.push(format!("{}:{}: {problem}", file.path, number + 1));
        }
    }
    found
}

fn file(path: &str, text: &str) -> SourceFile {
    let module = path.split('/').nth(1).unwrap_or_default();
    SourceFile { path: path.to_owned(), module: module.to_owned(), text: text.to_owned() }
}

#[test]
fn modules_use_lower_layers_only() {
    let found: Vec<String> = sources().iter().flat_map(breaches).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_layers_are_those_of_the_map_in_lib_rs() {
    let map = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("it is there");
    let mut layers: Vec<Vec<&str>> = Vec::new();
    for line in map.lines() {
        if line.starts_with("// Layer") {
            layers.push(Vec::new());
        } else if let Some(name) = line.strip_prefix("pub mod ") {
            layers.last_mut().expect("a layer comes first").push(name.trim_end_matches(';'));
        }
    }
    assert_eq!(layers, LAYERS.map(<[&str]>::to_vec));
}

#[test]
fn the_document_has_the_same_layers() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md")).expect("it is there");
    for (number, modules) in LAYERS.iter().enumerate() {
        let names: Vec<String> = modules.iter().map(|module| format!("`{module}`")).collect();
        let row = format!("| {number} | {} |", names.join(" "));
        assert!(text.contains(&row), "docs/architecture.md has no row `{row}`");
    }
}

#[test]
fn a_breach_is_named_with_file_and_line() {
    let upward = file("src/wire/message.rs", "use crate::json::Raw;\n\nuse crate::server::Server;\n");
    assert_eq!(breaches(&upward), ["src/wire/message.rs:3: `wire` (layer 4) uses `server` (layer 10)"]);
    let sideways = file("src/surface/build.rs", "fn f() { crate::extension::load() } // crate::cli\n");
    assert_eq!(breaches(&sideways), ["src/surface/build.rs:1: `surface` (layer 7) uses `extension` (layer 7)"]);
    let list = file("src/backend/call.rs", "use crate::{json::Raw, builtins};\npub(crate) fn f() {}\n");
    assert_eq!(breaches(&list), ["src/backend/call.rs:1: `backend` (layer 5) uses `builtins` (layer 6)"]);
    let own = file("src/cli/call.rs", "use crate::cli::output;\nuse crate::server::Identity;\n");
    assert_eq!(breaches(&own), [""; 0]);
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
        file.module == "cli" || file.path == "src/wire/stdio.rs"
    });
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn only_the_script_side_names_the_starlark_crate() {
    let allowed = ["script", "builtins", "extension", "sandbox", "author"];
    let found = mentions(&["starlark::"], |file| allowed.contains(&file.module.as_str()));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn only_the_edges_name_transports() {
    let edges = ["wire", "backend", "host_io", "cli", "config", "server"];
    let found = mentions(&["reqwest::", "hyper::", "StdioTransport", "HttpTransport"], |file| {
        edges.contains(&file.module.as_str())
    });
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    let libraries =
        mentions(&["reqwest::", "hyper::"], |file| ["wire", "backend", "host_io"].contains(&file.module.as_str()));
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
