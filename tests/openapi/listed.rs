//! The operations of an API are tools like those of any server.

use serde_json::json;

use super::{Api, PETS, config, entry, pets, started, value};
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
async fn it_looks_like_any_server() {
    let api = Api::of_pets().await;
    let proxy = pets(&api).await;
    let status = proxy.status().await;
    let server = &status["servers"][0];
    assert_eq!((&server["kind"], &server["status"]), (&json!("openapi"), &json!("ready")));
    assert_eq!((&server["serverName"], &server["tools"]), (&json!("Pets"), &json!(3)));
    let world = &proxy.world;
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
