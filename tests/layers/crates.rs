//! The crates of the workspace and their arrows. Cargo refuses a circle; this keeps the picture of them in
//! `docs/internals/architecture.md` and the list in `crates/README.md`. `UPDATE_DOCS=1 cargo test layers` rewrites both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const PROGRAM: &str = "starlark-mcp-proxy";
const BEGIN: &str = "<!-- crates: generated -->\n";
const END: &str = "<!-- end of crates -->\n";

/// The crates that each crate names in its manifest, without the prefix `proxy-`.
type Crates = BTreeMap<String, BTreeSet<String>>;

fn short(package: &str) -> String {
    package.trim_start_matches("proxy-").to_owned()
}

/// What Cargo knows of the workspace. Dependencies of tests do not count: they do not make a layer.
fn crates() -> Crates {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&cargo.stdout).expect("it writes JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let own = |name: &str| packages.iter().any(|package| package["name"] == name);
    let arrows = packages.iter().map(|package| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let used = dependencies.filter(|dependency| dependency["kind"].is_null());
        let used = used.filter_map(|dependency| dependency["name"].as_str()).filter(|name| own(name));
        (short(package["name"].as_str().expect("a name")), used.map(short).collect())
    });
    arrows.collect()
}

/// Everything that a crate reaches.
fn reachable(from: &str, crates: &Crates) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&String> = crates[from].iter().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next.clone()) {
            open.extend(&crates[next]);
        }
    }
    seen
}

/// The arrows of a crate that no other of its arrows implies.
fn nearest(name: &str, crates: &Crates) -> Vec<String> {
    let direct = &crates[name];
    let is_implied = |other: &&String| direct.iter().any(|via| reachable(via, crates).contains(*other));
    direct.iter().filter(|other| !is_implied(other)).cloned().collect()
}

/// Each crate above all that it uses.
fn ordered(crates: &Crates) -> Vec<&String> {
    let mut names: Vec<&String> = crates.keys().collect();
    names.sort_by_key(|name| (std::cmp::Reverse(reachable(name, crates).len()), *name));
    names
}

fn picture(crates: &Crates) -> String {
    let mut text = String::from("```text\n");
    for name in ordered(crates) {
        let arrows = nearest(name, crates).join(", ");
        let line = if arrows.is_empty() { name.clone() } else { format!("{name:<18} -> {arrows}") };
        writeln!(text, "{line}").expect("a string takes everything");
    }
    text + "```\n"
}

/// The first paragraph of a crate's documentation, without links of Rust.
fn introduction(name: &str) -> String {
    let path = root().join("crates").join(name).join("src/lib.rs");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
    let joined = lines.collect::<Vec<_>>().join("\n");
    assert!(joined.len() > 80, "crates/{name}: its first paragraph says what it is, what it knows, and what not");
    joined.replace("[`", "`").replace("`](proxy_script::Host)", "`").replace("`]", "`")
}

fn readme(crates: &Crates) -> String {
    let mut text = String::from(
        "# Crates\n\nFrom top to bottom: each crate uses only crates below it.\n\
         [Architecture](../docs/internals/architecture.md) has the diagram and explains the terms. This page is generated\n\
         from the first paragraph of each `lib.rs`: `UPDATE_DOCS=1 cargo test layers`.\n",
    );
    for name in ordered(crates).into_iter().filter(|name| *name != PROGRAM) {
        let arrows: Vec<String> = nearest(name, crates).iter().map(|other| format!("`{other}`")).collect();
        let uses = if arrows.is_empty() { String::new() } else { format!("\n\nUses {}.", arrows.join(", ")) };
        write!(text, "\n## {name}\n\n{}{uses}\n", introduction(name)).expect("a string takes everything");
    }
    text
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a file with what it should hold, or rewrites it.
fn check(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).expect("it can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is old: run `UPDATE_DOCS=1 cargo test layers`", path.display());
}

#[test]
fn the_picture_of_the_crates_is_the_one_that_cargo_has() {
    let text = fs::read_to_string(root().join("docs/internals/architecture.md")).expect("it is there");
    let (before, rest) = text.split_once(BEGIN).expect("the begin of the picture");
    let (_, after) = rest.split_once(END).expect("the end of the picture");
    check("docs/internals/architecture.md", &format!("{before}{BEGIN}{}{END}{after}", picture(&crates())));
}

#[test]
fn each_crate_says_what_it_is_and_what_it_must_not_know() {
    check("crates/README.md", &readme(&crates()));
}

#[test]
fn every_crate_is_called_proxy_because_the_log_knows_its_own_entries_by_that() {
    for name in crates().keys().filter(|name| *name != PROGRAM) {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
        assert!(
            text.contains(&format!("name = \"proxy-{name}\"")),
            "crates/{name} has another name than `proxy-{name}`"
        );
        for line in ["version.workspace = true", "publish = false", "doctest = false", "[lints]\nworkspace = true"] {
            assert!(text.contains(line), "crates/{name}/Cargo.toml lacks `{line}`");
        }
    }
}

#[test]
fn what_must_not_know_something_does_not_reach_it() {
    let crates = crates();
    // Not for its own sake: whoever builds one of these builds none of the others.
    for (low, high) in [("mcp-client", "script"), ("script", "store"), ("script", "wire"), ("wire", "host-io")] {
        assert!(!reachable(low, &crates).contains(high), "`{low}` reaches `{high}`");
    }
    for low in ["base", "json", "model", "fiber", "host-io", "config", "store"] {
        assert!(!reachable(low, &crates).contains("wire"), "`{low}` reaches `wire`");
    }
    assert!(!crates.values().any(|used| used.contains(PROGRAM)), "nothing uses the program");
}
