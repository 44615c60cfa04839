//! Every package that is linked into the binary may be distributed with it, and comes from the registry.

use std::process::Command;

use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// The list `allow` of `deny.toml`: one quoted licence a line.
fn allowed_licences() -> Vec<String> {
    let text = include_str!("../deny.toml");
    let list = text.split("allow = [").nth(1).and_then(|rest| rest.split("\n]").next()).expect("deny.toml has a list");
    let quoted = |line: &str| line.trim().strip_prefix('"')?.strip_suffix("\",").map(str::to_owned);
    list.lines().filter_map(quoted).collect()
}

fn is_allowed(requirement: &LicenseReq, allowed: &[String]) -> bool {
    allowed.iter().any(|licence| *licence == requirement.to_string())
}

/// The packages with a licence that the list does not allow.
fn refused(packages: &[Value], allowed: &[String]) -> Vec<String> {
    let is_refused = |package: &&Value| {
        let Some(licence) = package["license"].as_str() else { return true };
        let expression = Expression::parse_mode(licence, ParseMode::LAX).expect("an SPDX expression");
        !expression.evaluate(|requirement| is_allowed(requirement, allowed))
    };
    packages.iter().filter(is_refused).map(|package| format!("{} ({})", package["name"], package["license"])).collect()
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let (packages, allowed) = (packages(), allowed_licences());
    assert_eq!(refused(&packages, &allowed), Vec::<String>::new());
    // Without its licences the list would refuse nearly everything: the check does check.
    assert!(refused(&packages, &["Zlib".to_owned()]).len() > 100);
}

#[test]
fn the_notices_of_a_release_name_every_linked_package_with_its_licence_text() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join(format!("target/notices-{}.txt", std::process::id()));
    let written = Command::new("python3").arg(folder.join(".ci/notices")).arg(&file).output().expect("python3 runs");
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let text = std::fs::read_to_string(&file).expect("it was written");
    let _ = std::fs::remove_file(&file);
    let (list, texts) = text.split_once(&"-".repeat(80)).expect("a list and texts");
    for linked in
        ["tokio 1.", "proxy-sentence-encoder 0.1.0", "starlark 0.14.2 (Apache-2.0)", "rusqlite ", "jsonschema "]
    {
        assert!(list.lines().any(|line| line.starts_with(linked)), "{linked} is missing: {list}");
    }
    // Tests and build scripts are not distributed.
    assert!(!list.contains("\nproptest ") && !list.contains("\ncc 1."), "{list}");
    assert!(texts.contains("all-MiniLM-L6-v2"), "where the weights of the search model come from");
    assert!(texts.contains("Apache License") && texts.contains("Permission is hereby granted"), "no texts");
    assert!(texts.lines().any(|line| line.starts_with("Of ") && line.contains("tokio 1.")), "no text of tokio");
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let is_own = |package: &Value| package["name"].as_str().is_some_and(|name| name.starts_with("proxy-"));
    let elsewhere = packages().into_iter().filter(|package| {
        let source = package["source"].as_str();
        source.is_some_and(|source| !source.starts_with("registry+"))
            || source.is_none() && package["name"] != "starlark-mcp-proxy" && !is_own(package)
    });
    assert_eq!(elsewhere.map(|package| package["id"].to_string()).collect::<Vec<_>>(), Vec::<String>::new());
}
