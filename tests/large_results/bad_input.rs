//! Results that no server should send.

use std::process::Command;

use serde_json::json;

use super::{LIMIT, export, is_error, note, page_of, paged, stdio};
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// A server whose tool `t` answers with a long text that is not UTF-8.
const NOT_UTF_8: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*)
      result='{"tools":[{"name":"t","inputSchema":{"type":"object"}},{"name":"ok","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"t"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%09000d\377\376"}]}}\n' "$id" 7
      continue ;;
    *'"name":"ok"'*)
      result='{"content":[{"type":"text","text":"ok"}]}' ;;
    *)
      [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
      continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A proxy before a server that answers `t` with this text, whatever it is.
async fn answering(result: &str) -> StdioProxy {
    let backend = fake_backend(["--era", "legacy", "--tools", "tools.json", "--results", "results.json"]);
    let config = Config::new().server_with("fake", &backend, json!({"maxMessageBytes": "64MiB"})).section(LIMIT);
    let tools = json!([{"name": "t", "inputSchema": {"type": "object", "properties": {}}}]).to_string();
    let world = Proxy::new(&config).file("tools.json", &tools).file("results.json", &format!("{{\"t\":{result}}}"));
    let mut proxy = stdio(world).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    proxy
}

#[tokio::test]
async fn one_string_of_twenty_megabytes_is_its_first_page() {
    let result = json!({"content": [{"type": "text", "text": "x".repeat(20_000_000)}]}).to_string();
    let mut proxy = answering(&result).await;
    let answer = proxy.client.call("t", "{}").await;
    assert!(answer.raw.len() < 20_000, "{}", answer.raw.len());
    assert!(answer.text().starts_with("xxx"));
    assert!(note(&answer).ends_with(" of 2,857,143 tokens; the rest could not be kept]"), "{}", note(&answer));
}

#[tokio::test]
async fn ten_million_elements_are_pages_and_none_is_lost() {
    let text = format!("[{}1]", "1,".repeat(9_999_999));
    let result = json!({"content": [], "structuredContent": {"result": 0}}).to_string();
    let mut proxy = answering(&result.replace("\"result\":0", &format!("\"result\":{text}"))).await;
    let answer = proxy.client.call("t", "{}").await;
    assert!(answer.raw.len() < 20_000 && answer.text().starts_with("[1,1,"));
    // 20 MB are more than is kept of one result.
    assert!(note(&answer).ends_with("; the rest could not be kept]"), "{}", note(&answer));

    let text = format!("[{}1]", "1,".repeat(999_999));
    let mut proxy = answering(&result.replace("\"result\":0", &format!("\"result\":{text}"))).await;
    let answer = proxy.client.call("t", "{}").await;
    let (id, pages) = paged(&answer);
    let read = proxy.client.call("read_result", &page_of(&id, pages)).await;
    assert!(read.text().starts_with("[1") && read.text().ends_with("1]"));
    let last = json!({"result": id, "path": "[999990:]"}).to_string();
    assert_eq!(proxy.client.call("read_result", &last).await.text(), "[1,1,1,1,1,1,1,1,1,1]");
}

#[tokio::test]
async fn one_element_larger_than_a_page_and_deep_nesting_are_cut_as_text() {
    let long = "word ".repeat(10_000);
    let value = json!({"items": [1, long, 2]}).to_string();
    let deep = format!("{}\"{long}\"{}", "{\"a\":[1,".repeat(40), "]}".repeat(40));
    for value in [value, deep] {
        let mut proxy = answering(&super::structured(&value)).await;
        let first = proxy.client.call("t", "{}").await;
        let (id, pages) = paged(&first);
        let mut all = Vec::new();
        for page in 1..=pages {
            all.push(proxy.client.call("read_result", &page_of(&id, page)).await.text());
        }
        assert_eq!(all[0], first.text());
        let words: usize = all.iter().map(|page| page.matches("word").count()).sum();
        assert!(words > 9_980, "{words} of 10,000 are whole");
        let bytes: usize = all.iter().map(String::len).sum();
        assert!(bytes >= value.len() - 10 && bytes <= value.len() + 10, "{bytes} {}", value.len());
    }
}

#[tokio::test]
async fn invalid_utf_8_and_lone_surrogates_do_not_hurt() {
    // A lone surrogate is valid JSON and no text.
    let value = export(1000).replace("item 500 ü", "item \\ud800");
    let mut proxy = answering(&format!("{{\"content\":[],\"structuredContent\":{value}}}")).await;
    let (id, _) = paged(&proxy.client.call("t", "{}").await);
    let part = json!({"result": id, "path": "items[500].name"}).to_string();
    assert_eq!(proxy.client.call("read_result", &part).await.text(), "\"item \\ud800\"");

    // What is not UTF-8 is no message at all.
    let mut server = Command::new("sh");
    server.args(["-c", NOT_UTF_8]);
    let config = Config::new().server("fake", &server).section(LIMIT);
    let mut proxy = stdio(Proxy::new(&config)).await;
    let answer = proxy.client.call("t", "{}").await;
    assert!(is_error(&answer) && answer.text().contains("not UTF-8"), "{}", answer.raw);
    assert_eq!(proxy.client.call("ok", "{}").await.text(), "ok");
}
