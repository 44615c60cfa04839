//! What a draft cannot change does not make its check fail: descriptions of APIs, and variables that are not set.

use std::process::Command;

use serde_json::{Value, json};

use super::Author;
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const API: &str = "\
openapi: 3.0.3
info: {title: Pets, version: '1'}
paths:
  /pets: {get: {operationId: listPets, parameters: [{$ref: parts/limit.yaml}], responses: {'200': {description: ok}}}}
";

const LIMIT: &str = "{name: limit, in: query, schema: {type: integer}}\n";

/// A world whose session script is empty.
fn world(api: &str) -> Proxy {
    let key = "${KEY_THAT_IS_NOT_SET}";
    let config = Config::new()
        .remote_with("pet", "http://127.0.0.1:9/", json!({"openapi": api, "headers": {"api_key": "none"}}))
        .remote_with("web", "http://127.0.0.1:9/mcp", json!({"headers": {"Authorization": format!("Bearer {key}")}}))
        .section("sessionInit: {scriptFile: policy.star}");
    Proxy::new(&config).file("policy.star", "")
}

#[tokio::test]
async fn a_draft_is_checked_without_the_description_of_an_api_and_without_every_variable() {
    let world = world("apis/clean.yaml").file("apis/clean.yaml", API).file("apis/parts/limit.yaml", LIMIT);
    // A person is told of the variable.
    let by_hand = world.run(["check"]).await.expect(2).stderr;
    assert!(by_hand.contains("`KEY_THAT_IS_NOT_SET` is not set") && !by_hand.contains("clean.yaml"), "{by_hand}");
    let mut author = Author::start(world).await;
    let drafts = json!({"files": {"policy.star": "publish(metadata(\"a\", \"\", {}, {}), lambda args: 1)\n"}});
    let checked = author.data("check", drafts.clone()).await;
    assert_eq!((&checked["ok"], &checked["errors"]), (&json!(true), &json!(0)), "{checked:#}");
    let whole = author.data("check", json!({})).await;
    assert_eq!(whole["ok"], true, "{whole:#}");
    let different = author.data("diff", drafts).await;
    let problems = different["problems"].to_string();
    assert!(!problems.contains("\"error\""), "{different:#}");
    let wrong = author.data("check", json!({"files": {"policy.star": "publish(nothing)\n"}})).await;
    assert_eq!(wrong["ok"], false, "{wrong:#}");
}

/// What the catalog says of a server.
fn state_of(catalog: &Value, server: &str) -> String {
    let servers = catalog["servers"].as_array().expect("there are servers");
    let found = servers.iter().find(|known| known["name"] == server).unwrap_or_else(|| panic!("{catalog:#}"));
    found["state"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_api_and_a_server_that_is_a_file_of_the_folder_are_in_the_catalog_wherever_the_author_starts() {
    let backend = fake_backend(["--only", "echo"]);
    let arguments: Vec<_> = backend.get_args().map(|argument| argument.to_string_lossy()).collect();
    let line = format!("exec '{}' {}\n", backend.get_program().display(), arguments.join(" "));
    let mut script = Command::new("sh");
    script.arg("server.sh");
    let api = json!({"openapi": "apis/clean.yaml"});
    let config = Config::new().server("file", &script).remote_with("pet", "http://127.0.0.1:9/", api);
    let world = Proxy::new(&config).file("server.sh", &line);
    let limit = "name: limit\nin: query\n";
    let mut world = world.file("apis/clean.yaml", API).file("apis/parts/limit.yaml", limit);
    world.run(["list-servers", "--live"]).await.expect(0);
    let folder = world.directory.path().display().to_string();
    for arguments in [vec![], vec![folder.as_str()]] {
        let mut command = world.command(["author"].into_iter().chain(arguments.iter().copied()));
        if !arguments.is_empty() {
            command.current_dir("/");
        }
        let mut author = Author::of(command, world).await;
        let catalog = author.data("catalog", json!({})).await;
        for (server, tool) in [("file", "echo"), ("pet", "listPets")] {
            assert_eq!(state_of(&catalog, server), "as last seen", "{arguments:?}: {catalog:#}");
            assert!(catalog["items"].to_string().contains(&format!("\"{tool}\"")), "{catalog:#}");
        }
        world = author.world;
    }
}

#[tokio::test]
async fn a_description_outside_of_the_folder_is_no_problem_of_a_draft() {
    let outside = crate::support::temp_dir::TempDir::new();
    let path = outside.write("clean.yaml", &API.replace("{$ref: parts/limit.yaml}", LIMIT.trim()));
    let mut author = Author::start(world(&path.display().to_string())).await;
    let whole = author.data("check", json!({})).await;
    assert_eq!(whole["ok"], true, "{whole:#}");
}
