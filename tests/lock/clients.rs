//! Servers that list otherwise for another era or for clients with other abilities.

use serde_json::json;

use super::{Changing, read_note};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::patience::within;
use crate::support::programs::fake_http_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const FORM: &str = r#"{"elicitation":{"form":{}}}"#;

async fn session(proxy: &HttpProxy, capabilities: &str) -> HttpClient {
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", capabilities).await.result();
    client
}

#[tokio::test]
async fn a_tool_for_clients_that_can_be_asked_is_approved_for_them() {
    let server = Changing::with(json!([read_note("Reads a note.", json!({}))]), &["--form-tool"]).await;
    let proxy = server.locked("").await.http().await;
    let mut asked = session(&proxy, FORM).await;
    let mut plain = session(&proxy, "{}").await;
    let listed = async {
        while !asked.request("tools/list", "{}").await.tool_names().contains(&"with_form".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    within("the tool for those who can be asked", &proxy.program.stderr, listed).await;
    assert!(!asked.call("with_form", "{}").await.raw.contains("error"));
    assert_eq!(plain.request("tools/list", "{}").await.tool_names(), ["notify", "read_note"]);
    assert_eq!(super::differences(&proxy.world).await, [""; 0]);
    proxy.world.run(["lock", "--check"]).await.expect(0);
}

#[tokio::test]
async fn each_era_has_what_its_clients_saw() {
    let (_server, url) = fake_http_backend(&["--poor-modern", "--only", "echo,sample"]).await;
    let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough@1}");
    let world = Proxy::new(&config);
    world.run(["lock", "--yes"]).await.expect(0);
    let proxy = world.http().await;
    let mut client = session(&proxy, "{}").await;
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["echo", "sample"]);
    assert!(client.modern("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
    assert_eq!(super::differences(&proxy.world).await, [""; 0]);
    proxy.world.run(["lock", "--check"]).await.expect(0);
}
