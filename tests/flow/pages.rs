//! A result in pages: whoever reads one of them has read the tool behind it.

use serde_json::json;

use super::{PASSTHROUGH, text, world};
use crate::support::http_client::HttpClient;
use crate::support::proxy::HttpProxy;

/// Each session is a conversation of its own, and the results are Ann's in all of them.
const SECTIONS: &[&str] = &[
    PASSTHROUGH,
    "results: {maxTokens: 2000}",
    "auth: {tokens: [{token: secret-token-of-a, sub: ann}]}",
    "flow: {per: session, labels: [{name: note, labels: [secret]}], rules: [{when: [secret], then: egress, do: deny}]}",
];

async fn conversation(proxy: &HttpProxy) -> HttpClient {
    let mut client = proxy.client().with_header("Authorization", "Bearer secret-token-of-a");
    client.initialize("2025-11-25").await.result();
    client
}

#[tokio::test]
async fn a_page_of_a_secret_result_is_secret_in_every_conversation() {
    // Given a conversation that has a long secret in pages
    let (proxy, _folder) = world("legacy", &[], SECTIONS);
    let proxy = proxy.http().await;
    let mut first = conversation(&proxy).await;
    let secret = "a long secret that is read in pages\n".repeat(1000);
    let page = first.call("note", &text(&secret).to_string()).await.value();
    let id = page["result"]["_meta"]["proxy/result"]["id"].as_str().expect("the id of the pages").to_owned();
    // And another conversation of the same person, which has read nothing
    let mut second = conversation(&proxy).await;
    let sent = second.call("send_mail", &text("before").to_string()).await.value();
    assert!(sent["result"]["isError"] != true, "{sent}");
    // When it reads the second page
    let read = second.call("read_result", &json!({"result": id, "page": 2}).to_string()).await;
    assert!(read.text().contains("a long secret"), "{}", read.raw);
    // Then nothing leaves any more
    let why = second.call("send_mail", &text("after").to_string()).await.text();
    assert!(why.contains("this conversation has read `note` (secret)"), "{why}");
}
