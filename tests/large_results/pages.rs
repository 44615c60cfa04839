//! What arrives of a large result, in each era and over each transport.

use serde_json::{Value, json};

use super::{LIMIT, export, is_error, joined, note, page_of, paged, session, stdio, world};
use crate::support::message::Message;
use crate::support::proxy::Proxy;

/// All pages of the result of a tool, each as its text, and the answers they came in.
macro_rules! pages {
    ($client:expr, $call:ident, $tool:expr) => {{
        let first = $client.$call($tool, "{}").await;
        let (id, count) = paged(&first);
        let mut pages = vec![first.text()];
        let mut answers = vec![first];
        for page in 2..=count {
            let answer = $client.$call("read_result", &page_of(&id, page)).await;
            pages.push(answer.text());
            answers.push(answer);
        }
        (pages, answers)
    }};
}

fn check_export(pages: &[String], answers: &[Message]) {
    assert_eq!(joined(pages), export(1000));
    assert!(pages.len() > 10, "{}", pages.len());
    for (index, (page, answer)) in pages.iter().zip(answers).enumerate() {
        serde_json::from_str::<Value>(page).expect("every page is JSON");
        let value = answer.value();
        assert!(value["result"].get("structuredContent").is_none());
        let meta = &value["result"]["_meta"]["proxy/result"];
        assert_eq!((meta["page"].as_u64(), meta["pages"].as_u64()), (Some(index as u64 + 1), Some(pages.len() as u64)));
        let note = note(answer);
        assert!(note.starts_with(&format!("[page {} of {}, ", index + 1, pages.len())), "{note}");
        assert_eq!(note.contains("more: read_result("), index + 1 < pages.len(), "{note}");
    }
}

#[tokio::test]
async fn a_large_result_arrives_in_pages_with_every_byte_in_both_eras_and_transports() {
    let mut proxy = stdio(world(LIMIT)).await;
    let (pages, answers) = pages!(proxy.client, call, "export");
    check_export(&pages, &answers);
    let (pages, answers) = pages!(proxy.client, modern_call, "export");
    check_export(&pages, &answers);

    let proxy = world(LIMIT).http().await;
    let mut client = session(&proxy).await;
    let (pages, answers) = pages!(client, call, "export");
    check_export(&pages, &answers);
    let (pages, answers) = pages!(proxy.client(), modern_call, "export");
    check_export(&pages, &answers);
}

#[tokio::test]
async fn json_in_a_text_is_cut_like_structured_content() {
    let mut proxy = stdio(world(LIMIT)).await;
    let (pages, answers) = pages!(proxy.client, call, "report");
    check_export(&pages, &answers);
}

#[tokio::test]
async fn text_is_cut_at_line_ends() {
    let mut proxy = stdio(world(LIMIT)).await;
    let (pages, answers) = pages!(proxy.client, call, "log");
    assert!(pages.len() > 5 && pages.iter().all(|page| page.ends_with("lazy dog\n")));
    assert_eq!(pages.concat().lines().count(), 2000);
    assert!(!note(&answers[0]).contains("\"path\""), "a text has no parts");
}

#[tokio::test]
async fn the_first_page_has_a_note_a_link_and_the_other_blocks() {
    let mut proxy = stdio(world(LIMIT)).await;
    let answer = proxy.client.call("images", "{}").await;
    let (id, pages) = paged(&answer);
    let value = answer.value();
    let content = value["result"]["content"].as_array().expect("content");
    assert_eq!(content.len(), 203);
    assert_eq!((&content[0]["type"], &content[1]["type"]), (&json!("text"), &json!("text")));
    assert_eq!(content[2]["uri"], format!("result://{id}?page=2"));
    assert!(content[3..].iter().all(|block| block["type"] == "image"));
    let note = note(&answer);
    let more = format!("; more: read_result({{\"result\": \"{id}\", \"page\": 2}}); kept 30 min]");
    assert!(note.starts_with(&format!("[page 1 of {pages}, ")) && note.ends_with(&more), "{note}");
    // Images are not repeated.
    let second = proxy.client.call("read_result", &page_of(&id, 2)).await.value();
    assert!(second["result"]["content"].as_array().is_some_and(|content| content.len() <= 3));

    let mut older = world(LIMIT).stdio();
    older.client.initialize("2025-03-26").await.result();
    let answer = older.client.call("images", "{}").await;
    assert!(!answer.raw.contains("resource_link") && answer.raw.contains("read_result"), "it has no links");
}

#[tokio::test]
async fn an_error_is_cut_and_not_kept() {
    let mut proxy = stdio(world(LIMIT)).await;
    let answer = proxy.client.call("failed", "{}").await;
    assert!(is_error(&answer));
    assert!(answer.text().len() < 15_000 && note(&answer).ends_with("the rest of an error is not kept]"));
    assert!(answer.value()["result"].get("_meta").is_none(), "{}", note(&answer));
}

#[tokio::test]
async fn results_within_the_limit_and_for_clients_without_one_are_those_of_the_server() {
    let result = super::structured(&export(1000));
    let raw = json!({"result": "RESULT"}).to_string().replace("\"RESULT\"", &result);
    for sections in ["", "results: {maxTokens: off}", "results: {maxTokens: 200000}"] {
        let config = crate::support::config::Config::new()
            .server("fake", &crate::support::programs::fake_backend(["--era", "legacy"]))
            .section(sections);
        let mut proxy = stdio(Proxy::new(&config)).await;
        assert_eq!(proxy.client.call("raw", &raw).await.result(), result, "{sections}");
    }
}

#[tokio::test]
async fn call_tool_is_paged_by_the_tool_it_calls_and_handlers_see_whole_results() {
    let limits = "results: {maxTokens: off, tools: {export: {maxTokens: 2000}}}\n\
                  optimizer: {enabled: true, listBelow: 0, embedding: {provider: none}}";
    let mut proxy = stdio(world(limits)).await;
    assert_eq!(proxy.tools().await, ["find_tool", "describe_tool", "call_tool", "read_result"]);
    let carried = async |client: &mut crate::support::stdio_client::StdioClient, tool: &str| {
        client.call("call_tool", &json!({"tool_name": tool, "parameters": {}}).to_string()).await
    };
    let export = carried(&mut proxy.client, "export").await;
    let (id, pages) = paged(&export);
    let mut all = vec![export.text()];
    for page in 2..=pages {
        all.push(proxy.client.call("read_result", &page_of(&id, page)).await.text());
    }
    // On its way through Starlark, 1.10 has become 1.1.
    assert_eq!(joined(&all), super::export(1000).replace("1.10", "1.1"));
    assert!(carried(&mut proxy.client, "log").await.value()["result"].get("_meta").is_none());

    let script = "def count(args):\n    return {\"count\": len(unwrap(export({}))[\"items\"])}\n\n\
                  [(_, export)] = [tool for tool in backends()[\"fake\"].tools() if tool[0].name == \"export\"]\n\
                  publish(metadata(\"count\", \"\", {\"type\": \"object\"}, {}), count)\n";
    let world = world("results: {maxTokens: 2000}\nsessionInit: {scriptFile: policy.star}").file("policy.star", script);
    let mut proxy = stdio(world).await;
    assert_eq!(proxy.client.call("count", "{}").await.structured(), r#"{"count":1000}"#);
}
