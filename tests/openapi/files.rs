//! Descriptions in files: what happens when they change, and what they cannot do.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{Api, PETS, config, entry, pets, said, started};
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_change_is_seen_while_the_proxy_runs() {
    let api = Api::of_pets().await;
    let mut proxy = pets(&api).await;
    proxy.world.directory.write("pets.yaml", &PETS.replace("deletePet", "removePet"));
    proxy.client.expect_notification("notifications/tools/list_changed").await;
    assert_eq!(proxy.tools().await, ["getPet", "removePet", "addPet"]);
    assert_eq!(proxy.client.call("removePet", r#"{"id":"1"}"#).await.text(), "HTTP 204 No Content");
}

#[tokio::test]
async fn the_last_good_version_stays_while_a_newer_one_cannot_be_used() {
    let api = Api::of_pets().await;
    let mut proxy = pets(&api).await;
    proxy.world.directory.write("pets.yaml", "openapi: 3.0.3\npaths: [\n");
    let line = proxy
        .client
        .stderr()
        .line("cannot use the new version of the description `pets.yaml`, so the last good one stays")
        .await;
    assert!(line.contains("invalid YAML in line "), "{line}");
    assert_eq!(proxy.tools().await, ["getPet", "deletePet", "addPet"]);
    assert_eq!(proxy.client.call("getPet", r#"{"id":"1"}"#).await.structured(), r#"{"name":"1"}"#);
    let status = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(status.contains("so the last good one stays: invalid YAML in line"), "{status}");
    proxy.world.directory.write("pets.yaml", &PETS.replace("addPet", "makePet"));
    proxy.client.tools_until(|names| names.iter().any(|name| name == "makePet")).await;
    let status = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(!status.contains("cannot use the new version"), "{status}");
}

#[tokio::test]
async fn a_description_that_cannot_be_used_says_why_and_is_tried_again() {
    let api = Api::of_pets().await;
    for (text, problem) in [
        ("swagger: '2.0'\n", "npx swagger2openapi"),
        ("a: 1\n", "this is no OpenAPI description"),
        ("openapi: 4.0.0\n", "OpenAPI 4.0.0 is not supported"),
        ("{\"openapi\": ", "invalid JSON"),
    ] {
        let proxy = Proxy::new(&config(entry(&api.url))).file("pets.yaml", text);
        let listed = said(&proxy, "list-servers").await;
        assert!(listed.contains("failed") && listed.contains(problem), "{text}: {listed}");
        assert!(!listed.contains(&proxy.directory.path().display().to_string()), "{listed}");
    }
    let proxy = Proxy::new(&config(entry(&api.url)));
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.stderr().line("there is no such file").await;
    proxy.world.directory.write("pets.yaml", PETS);
    proxy.client.tools_until(|names| names.len() == 3).await;
}

#[tokio::test]
async fn parts_in_other_files_are_read_and_watched_but_none_outside_of_its_folder() {
    let api = Api::of_pets().await;
    let text = "openapi: 3.1.0\npaths:\n  /a: {$ref: 'parts/a.yaml'}\n  /b: {$ref: '../secret.yaml'}\n  /c: {$ref: 'link.yaml'}\n  \
                /d: {$ref: 'file:///etc/passwd'}\n  /e: {$ref: 'http://127.0.0.1:1/x.yaml'}\n";
    let item = |name: &str| format!("get: {{operationId: {name}}}\n");
    let entry = json!({"openapi": "api/api.yaml", "url": api.url});
    let proxy = Proxy::new(&config(entry)).file("secret.yaml", &item("secret"));
    proxy.directory.directory("api/parts");
    proxy.directory.write("api/parts/a.yaml", &item("a"));
    symlink("../secret.yaml", proxy.directory.path().join("api/link.yaml")).unwrap();
    let proxy = proxy.file("api/api.yaml", text);
    let checked = said(&proxy, "check").await;
    for part in ["`../secret.yaml` is outside the folder", "leads out of the folder", "`file:///etc/passwd`", "x.yaml"]
    {
        assert!(checked.contains(part), "{part} is not in {checked}");
    }
    let mut proxy = started(proxy).await;
    assert_eq!(proxy.tools().await, ["a"]);
    proxy.world.directory.write("api/parts/a.yaml", &item("b"));
    proxy.client.tools_until(|names| *names == ["b"]).await;
}

#[tokio::test]
async fn descriptions_that_are_too_large_are_refused() {
    let api = Api::of_pets().await;
    let aliases = format!("openapi: 3.0.0\nx: &x {{a: 1}}\ny: [{}]\n", "*x, ".repeat(1_000_000));
    let large = format!("openapi: 3.0.0\nx: '{}'\n", "x".repeat(20 << 20));
    let deep = format!("{{\"openapi\": \"3.0.0\", \"x\": {}", "[".repeat(100_000));
    for (text, problem) in [
        (aliases, "it has more than 1000000 values"),
        (large, "the description is larger than 20 MiB"),
        (deep, "it nests more than 128 levels deep"),
    ] {
        let proxy = Proxy::new(&config(entry(&api.url))).file("pets.yaml", &text);
        let listed = said(&proxy, "list-servers").await;
        assert!(listed.contains(problem), "{problem}: {listed}");
    }
}

#[tokio::test]
#[ignore = "a description of 20 MB"]
async fn a_description_of_almost_twenty_megabytes_is_read() {
    let api = Api::of_pets().await;
    let mut text = "openapi: 3.0.0\npaths:\n".to_owned();
    let filler = "x".repeat(9500);
    for number in 0..2000 {
        text.push_str(&format!("  /p{number}: {{get: {{operationId: op{number}, description: '{filler}'}}}}\n"));
    }
    assert!(text.len() > 18 << 20);
    let mut proxy = Proxy::new(&config(entry(&api.url))).file("pets.yaml", &text).stdio();
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| !names.is_empty()).await;
    assert_eq!(proxy.status().await["servers"][0]["tools"], 2000);
}
