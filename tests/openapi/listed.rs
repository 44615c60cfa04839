//! The operations of an API are tools like those of any server.

use serde_json::json;

use super::{Api, PETS, by_another_client, config, entry, pets, started, value};
use crate::support::proxy::Proxy;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};

#[tokio::test]
async fn operations_are_tools_and_calls_are_requests() {
    let api = Api::of_pets().await;
    let mut proxy = pets(&api).await;
    let listed = value(&proxy.client.request("tools/list", "{}").await.result());
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["getPet", "deletePet", "addPet"]);
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[1]["annotations"]["destructiveHint"], true);
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["id"]));
    let got = proxy.client.call("getPet", r#"{"id":"a b/..c","verbose":true}"#).await;
    assert_eq!(got.structured(), r#"{"name":"a%20b%2F..c"}"#);
    let added = proxy.client.call("addPet", r#"{"name":"Rex","friends":[{"name":"Tom"}]}"#).await;
    assert_eq!(added.structured(), r#"{"name":"pets"}"#);
    assert_eq!(api.last_body(), r#"{"name":"Rex","friends":[{"name":"Tom"}]}"#);
    assert_eq!(api.last_header("content-type").as_deref(), Some("application/json"));
    assert_eq!(proxy.client.call("deletePet", r#"{"id":"1"}"#).await.text(), "HTTP 204 No Content");
    assert_eq!(api.lines(), ["GET /pets/a%20b%2F..c?verbose=true", "POST /pets", "DELETE /pets/1"]);
    let wrong = proxy.client.call("getPet", r#"{"id":"../admin"}"#).await;
    assert!(wrong.text().contains("must not contain `.` or `..`"), "{}", wrong.text());
    assert_eq!(api.lines().len(), 3, "nothing was sent");
}

#[tokio::test]
async fn clients_of_both_eras_list_and_call_them() {
    let api = Api::of_pets().await;
    let world = Proxy::new(&config(entry(&api.url))).file("pets.yaml", PETS);
    let proxy = world.http().await;
    for lifecycle in [legacy(), modern()] {
        let client = RmcpClient::http(&proxy.url, proxy.program.stderr.clone(), lifecycle).await;
        assert_eq!(client.tool_names().await, ["getPet", "deletePet", "addPet"]);
        let called = client.call("getPet", json!({"id": "7"})).await;
        assert_eq!(called.structured_content, Some(json!({"name": "7"})));
        client.finish().await;
    }
}

#[tokio::test]
#[ignore = "a client of other people, which is installed first"]
async fn the_client_of_the_typescript_sdk_lists_and_calls_them_in_both_eras() {
    let api = Api::of_pets().await;
    let proxy = Proxy::new(&config(entry(&api.url))).file("pets.yaml", PETS).http().await;
    let calls = [
        ("getPet".to_owned(), json!({"id": "7", "verbose": true})),
        ("deletePet".to_owned(), json!({"id": "8"})),
        ("getPet".to_owned(), json!({"id": ".."})),
    ];
    for era in ["legacy", "2026-07-28"] {
        let Some(report) = by_another_client(&proxy.url, era, &calls).await else { return };
        assert_eq!(report["revision"], if era == "legacy" { "2025-11-25" } else { era });
        assert_eq!(report["tools"], json!(["getPet", "deletePet", "addPet"]));
        let results = &report["results"];
        assert_eq!(results[0]["structuredContent"], json!({"name": "7"}), "{report}");
        assert_eq!(results[1]["content"][0]["text"], "HTTP 204 No Content", "{report}");
        assert_eq!(results[2]["isError"], true, "{report}");
    }
    assert_eq!(api.lines(), ["GET /pets/7?verbose=true", "DELETE /pets/8"].repeat(2));
}

#[tokio::test]
async fn it_looks_like_any_server() {
    let api = Api::of_pets().await;
    let proxy = pets(&api).await;
    let status = proxy.status().await;
    let server = &status["servers"][0];
    assert_eq!((&server["kind"], &server["status"]), (&json!("openapi"), &json!("ready")));
    assert_eq!((&server["serverName"], &server["tools"]), (&json!("Pets"), &json!(3)));
    assert_eq!(server["protocolVersion"], "OpenAPI 3.0", "an API does not speak MCP");
    let world = &proxy.world;
    let table = world.run(["list-servers"]).await.expect(0).stdout;
    let columns = table.lines().last().unwrap_or_default().split("  ").map(str::trim).filter(|cell| !cell.is_empty());
    let columns: Vec<&str> = columns.collect();
    assert_eq!(columns[..5], ["pets", "ready", "openapi", "1.2.0", "OpenAPI 3.0"], "{table}");
    assert_eq!(world.run(["list-servers", "--json"]).await.expect(0).json()[0]["protocolVersion"], "OpenAPI 3.0");
    let shown = world.run(["status"]).await.expect(0).stdout;
    assert!(shown.contains("OpenAPI 3.0") && !shown.contains("2026-07-28"), "{shown}");
    assert_eq!(world.run(["list-tools"]).await.expect(0).column(), ["getPet", "deletePet", "addPet"]);
    assert!(world.run(["explain", "getPet"]).await.expect(0).stdout.contains("pets"));
    assert!(world.run(["types", "--lang", "star"]).await.expect(0).stdout.contains("getPet"));
    let called = world.run(["call", "getPet", "id=9"]).await.expect(0);
    assert!(called.stdout.contains("\"9\""), "{}", called.stdout);
    world.run(["lock", "--yes"]).await.expect(0);
    let locked = std::fs::read_to_string(world.directory.path().join("proxy.lock")).unwrap();
    assert!(locked.contains("deletePet"), "{locked}");
}

#[tokio::test]
async fn an_unknown_tool_and_a_missing_argument_are_told() {
    let api = Api::of_pets().await;
    let mut proxy = started(Proxy::new(&config(entry(&api.url))).file("pets.yaml", PETS)).await;
    let missing = proxy.client.call("getPet", "{}").await;
    assert!(missing.text().contains("`id`"), "{}", missing.text());
    let unknown = proxy.client.call("getPet", r#"{"id":"1","typo":2}"#).await;
    assert!(unknown.text().contains("unknown argument `typo`"), "{}", unknown.text());
    assert!(api.lines().is_empty());
}
