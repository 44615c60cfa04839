//! What clients with a limit see in their lists, and what everybody else does not.

use serde_json::{Value, json};

use super::{CODEX, LIMIT, as_client, paged, stdio, tools, world, world_with};
use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

fn schema_of(list: &Message, tool: &str) -> Value {
    let list = list.value();
    let found = list["result"]["tools"].as_array().and_then(|tools| tools.iter().find(|one| one["name"] == tool));
    found.unwrap_or_else(|| panic!("no {tool}"))["outputSchema"].clone()
}

#[tokio::test]
async fn a_client_that_cuts_results_gets_pages_and_all_others_get_what_they_got() {
    let proxy = world("").http().await;
    let client = proxy.client();
    let list = as_client(&client, CODEX, "tools/list", "{}").await;
    assert_eq!(list.tool_names().last().map(String::as_str), Some("read_result"));
    assert_eq!(schema_of(&list, "export"), Value::Null);
    assert_eq!(list.value()["result"]["cacheScope"], "private");
    let templates = as_client(&client, CODEX, "resources/templates/list", "{}").await.value();
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "result://{id}{?page,path}");
    let answer = as_client(&client, CODEX, "tools/call", r#"{"name":"export","arguments":{}}"#).await;
    paged(&answer);

    for name in ["claude-code", "test-client", "codex"] {
        let list = as_client(&client, name, "tools/list", "{}").await;
        assert!(list.raw.contains(&tools()[1..20]) && !list.raw.contains("read_result"), "{}", list.raw);
        assert_eq!(schema_of(&list, "export")["type"], "object");
        let answer = as_client(&client, name, "tools/call", r#"{"name":"export","arguments":{}}"#).await;
        assert!(answer.raw.contains(r#""id":999,"#) && answer.value()["result"].get("structuredContent").is_some());
        let read = as_client(&client, name, "tools/call", r#"{"name":"read_result","arguments":{}}"#).await;
        assert_eq!(read.error_message(), "unknown tool: read_result");
    }

    // A session says who it is once.
    let mut session = proxy.client();
    session.initialize_as("2025-11-25", "Codex-MCP-Client").await.result();
    assert!(session.request("tools/list", "{}").await.tool_names().contains(&"read_result".to_owned()));
    paged(&session.call("export", "{}").await);
}

#[tokio::test]
async fn a_tool_without_a_limit_keeps_its_schema_and_its_structured_content() {
    let mut proxy = stdio(world("results: {maxTokens: 2000, tools: {'ex*': {maxTokens: off}}}")).await;
    let list = proxy.client.request("tools/list", "{}").await;
    assert_eq!(schema_of(&list, "export")["type"], "object");
    assert!(proxy.client.call("export", "{}").await.structured().contains(r#""id":999,"#));
    paged(&proxy.client.call("log", "{}").await);
}

#[tokio::test]
async fn the_tool_has_another_name_where_its_own_is_taken() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object", "properties": {}}});
    let listed = Value::from(vec![tool("read_result"), tool("export")]).to_string();
    let mut proxy = stdio(world(LIMIT).file("tools.json", &listed)).await;
    assert_eq!(proxy.tools().await, ["read_result", "export", "proxy_read_result"]);
    let answer = proxy.client.call("export", "{}").await;
    let (id, _) = paged(&answer);
    assert!(super::note(&answer).contains("proxy_read_result({"), "{}", super::note(&answer));
    let second = proxy.client.call("proxy_read_result", &super::page_of(&id, 2)).await;
    assert!(second.text().starts_with("[{\"id\":"), "{}", second.raw);
    // The server's own tool returns its arguments.
    assert_eq!(proxy.client.call("read_result", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);

    let both = Value::from(vec![tool("read_result"), tool("proxy_read_result"), tool("export")]).to_string();
    let mut proxy = stdio(world(LIMIT).file("tools.json", &both)).await;
    assert_eq!(proxy.tools().await.len(), 3);
    let answer = proxy.client.call("export", "{}").await;
    let (id, _) = paged(&answer);
    assert!(super::note(&answer).contains(&format!("more: the resource result://{id}?page=2")));
}

#[tokio::test]
async fn a_server_without_resources_has_those_of_the_proxy() {
    for (sections, has_resources) in [(LIMIT, true), ("", false)] {
        let section = format!("sessionInit: {{preset: passthrough@1}}\n{sections}");
        let mut proxy = world(&section).stdio();
        let capabilities = proxy.client.initialize("2025-11-25").await.value()["result"]["capabilities"].clone();
        assert_eq!(capabilities.get("resources").is_some(), has_resources, "{capabilities}");
        let templates = proxy.client.request("resources/templates/list", "{}").await.value();
        assert_eq!(templates.get("result").is_some(), has_resources, "{templates}");
        if has_resources {
            let list = proxy.client.request("resources/list", "{}").await.value();
            assert_eq!(list["result"]["resources"], json!([]));
            let completion = r#"{"ref":{"type":"ref/resource","uri":"result://{id}{?page,path}"},"argument":{"name":"id","value":""}}"#;
            proxy.client.request("completion/complete", completion).await;
        }
    }
}

#[tokio::test]
async fn resources_of_a_server_with_such_uris_stay_its_own() {
    let mut proxy = stdio(world_with(&["--resources"], LIMIT)).await;
    let (id, _) = paged(&proxy.client.call("export", "{}").await);
    let read = |uri: &str| json!({ "uri": uri }).to_string();
    let page = proxy.client.request("resources/read", &read(&format!("result://{id}?page=2"))).await.value();
    assert!(page["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.starts_with("[{\"id\":")), "{page}");
    assert_eq!(page["result"]["contents"][0]["mimeType"], "application/json");
    let greeting = proxy.client.request("resources/read", &read("memo://greeting")).await.value();
    assert!(greeting["result"]["contents"][0]["text"].is_string(), "{greeting}");

    // A template that matches every URI of ours gets those of others only.
    let script = "for meta, call in backends()[\"fake\"].tools():\n    publish(meta, call)\n\n\
                  def read(args):\n    return \"by the script: \" + args[\"id\"]\n\n\
                  publish_resource_template(resource_template_metadata(\"result://{id}\", \"own\"), read)\n";
    let proxy = world(&format!("{LIMIT}\nsessionInit: {{scriptFile: policy.star}}")).file("policy.star", script);
    let mut proxy = stdio(proxy).await;
    let (id, _) = paged(&proxy.client.call("export", "{}").await);
    let page = proxy.client.request("resources/read", &read(&format!("result://{id}"))).await.value();
    assert!(
        page["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.starts_with("{\"total\"")),
        "{page}"
    );
    let own = proxy.client.request("resources/read", &read("result://7")).await.value();
    assert_eq!(own["result"]["contents"][0]["text"], "by the script: 7", "{own}");
}

#[tokio::test]
async fn the_link_to_the_next_page_is_no_link_of_the_server() {
    let link = json!({"type": "resource_link", "uri": "memo://hidden/1", "name": "hidden"});
    let text = json!({"type": "text", "text": "word ".repeat(5000)});
    let limit = "results: {maxTokens: 2000, tools: {seen: {maxTokens: off}}}";
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy", "--resources"])).section(limit);
    let mut proxy = stdio(Proxy::new(&config)).await;
    let answer = proxy.client.call("raw", &json!({"result": {"content": [text, link]}}).to_string()).await;
    let (id, _) = paged(&answer);
    let subscribe = async |client: &mut StdioClient, uri: &str| {
        client.request("resources/subscribe", &json!({ "uri": uri }).to_string()).await.value()
    };
    // A link that the server sent leads to it.
    let theirs = subscribe(&mut proxy.client, "memo://hidden/1").await;
    assert!(theirs.get("result").is_some(), "{theirs}");
    let ours = subscribe(&mut proxy.client, &format!("result://{id}?page=2")).await;
    assert_eq!(ours["error"]["message"], "resource not found", "{ours}");
    let seen = proxy.client.call("seen", "{}").await.structured();
    assert!(seen.contains("memo://hidden/1") && !seen.contains("result://"), "{seen}");
}
