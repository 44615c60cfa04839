//! Config and JSON blocks.

use std::path::Path;

use proxy_config as config;

use super::{blocks, markdown, pages};
use crate::support::temp_dir::TempDir;

const LANGUAGES: [&str; 8] = ["cedar", "console", "ini", "json", "python", "sh", "text", "yaml"];

#[test]
fn every_block_says_what_it_is() {
    for block in pages().iter().flat_map(|page| markdown::blocks(page)) {
        let known = LANGUAGES.contains(&block.language.as_str());
        assert!(known, "{}: the language of a block is one of {LANGUAGES:?}, not `{}`", block.place, block.language);
    }
}

#[test]
fn every_config_loads() {
    let folder = TempDir::new();
    folder.write("policy.star", "");
    // Each variable has a value of its own, long enough for a key.
    let anything = |name: &str| Some(format!("{name}-and-what-makes-it-long-enough"));
    let blocks = blocks(&["yaml"]);
    assert!(!blocks.is_empty());
    for block in blocks {
        if let Err(errors) = config::load_text(&folder.path().join("proxy.yaml"), &block.text, &anything) {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            panic!("{}:\n{}", block.place, errors.join("\n"));
        }
    }
}

#[test]
fn the_example_config_loads() {
    let path = super::root().join("proxy.yaml");
    let nothing = |_: &str| None;
    let (config, warnings) = config::load(&path, &nothing).expect("it is valid");
    assert!(config.servers.len() >= 3 && warnings.is_empty());
}

#[test]
fn every_json_block_parses() {
    for block in blocks(&["json"]) {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(&block.text);
        if let Err(problem) = parsed {
            panic!("{}: {problem}", block.place);
        }
    }
}

#[test]
fn every_shell_script_parses() {
    let folder = TempDir::new();
    for block in blocks(&["sh"]) {
        let file = folder.write("script.sh", &block.text);
        let status = std::process::Command::new("sh").arg("-n").arg(file).status().expect("there is a shell");
        assert!(status.success(), "{}: not a shell script", block.place);
    }
}

#[test]
fn the_readme_shows_something_within_its_first_forty_lines() {
    let text = markdown::read(&super::root().join("README.md"));
    let first: Vec<&str> = text.lines().take(40).collect();
    assert!(first.iter().any(|line| line.starts_with("$ ")), "no command in the first 40 lines");
}

#[test]
fn every_example_extension_loads() {
    use proxy_engine::extension;
    use proxy_script as script;
    let files = extension::candidates(&super::root().join("extensions")).expect("they are there");
    assert!(files.len() >= 8, "only {} were found", files.len());
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if name.ends_with("_test.star") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is text");
        let source = script::Source::at(&name, text, &path);
        match extension::load(&source, &script::Limits::SESSION_SCRIPT, &super::scripts::host_io()) {
            Ok(Some(extension)) => {
                assert_eq!(Some(extension.name.as_str()), Path::new(&name).file_stem().and_then(|stem| stem.to_str()))
            }
            Ok(None) => panic!("{name} describes no extension"),
            Err(error) => panic!("{error}"),
        }
        let test = path.with_file_name(name.replace(".star", "_test.star"));
        assert!(test.is_file(), "{name} has no test");
    }
}
