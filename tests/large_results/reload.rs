//! The section `results` changes while the proxy runs: clients are told if their lists do.

use serde_json::json;

use super::{LIMIT, is_error, page_of, paged, results, session, tools};
use crate::support::config::Config;
use crate::support::http_client::HttpReply;
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const OFF: &str = "results: {maxTokens: off}";
const CHANGES: [&str; 2] = ["notifications/tools/list_changed", "notifications/resources/list_changed"];

fn config(results: &str) -> String {
    let files = ["--tools", "tools.json", "--results", "results.json"];
    let server = fake_backend(["--era", "legacy", "--resources"].into_iter().chain(files));
    Config::new().server("fake", &server).section(results).text()
}

async fn told(stream: &mut HttpReply) {
    for change in CHANGES {
        let message = stream.next_message().await.expect("the stream is open");
        assert_eq!(message.method().as_deref(), Some(change), "{}", message.raw);
    }
}

#[tokio::test]
async fn clients_of_both_eras_are_told_when_read_result_comes_and_goes() {
    // Given a session and a stateless client that listen, and no limit
    let proxy = Proxy::with_config_text(&config(OFF)).file("tools.json", &tools()).file("results.json", &results(1000));
    let proxy = proxy.http().await;
    let write = |results: &str| proxy.world.directory.write("proxy.yaml", &config(results));
    let mut client = session(&proxy).await;
    let has = async |client: &mut crate::support::http_client::HttpClient| {
        let tools = client.request("tools/list", "{}").await.tool_names().contains(&"read_result".to_owned());
        let templates = client.request("resources/templates/list", "{}").await;
        (tools, templates.raw.contains("result://{id}"))
    };
    assert_eq!(has(&mut client).await, (false, false));
    let mut stream = client.get_stream().await;
    let wanted = json!({"notifications": {"toolsListChanged": true, "resourcesListChanged": true}}).to_string();
    let mut listening = proxy.client().send(&HttpRequest::modern("8", "subscriptions/listen", &wanted)).await;
    listening.next_message().await.expect("the acknowledgment");
    // When there is a limit, then both learn of the tool and the template by which results are read
    write(LIMIT);
    told(&mut stream).await;
    told(&mut listening).await;
    assert_eq!(has(&mut client).await, (true, true));
    let (id, _) = paged(&client.call("export", "{}").await);
    // Another size changes no list, so that nobody is told before the limit goes
    write("results: {maxTokens: 3000}");
    proxy.program.stderr.times("reloaded proxy.yaml", 2).await;
    assert!(!is_error(&client.call("read_result", &page_of(&id, 2)).await));
    write("results: {maxTokens: 3000, tools: {'*': {maxTokens: off}}}");
    told(&mut stream).await;
    told(&mut listening).await;
    write(OFF);
    told(&mut stream).await;
    told(&mut listening).await;
    assert_eq!(has(&mut client).await, (false, false));
    let read = client.call("read_result", &page_of(&id, 2)).await;
    assert_eq!(read.error_message(), "unknown tool: read_result");
}
