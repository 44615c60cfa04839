//! Two entries of one URL: two accounts.

use std::fs;

use serde_json::json;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::config::Config;
use crate::support::log_ins::{SERVER, folder, log_in, records, with_browser};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn two_entries_of_one_url_have_a_log_in_each() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let config =
        Config::new().remote_with(SERVER, &server.url, json!({})).remote_with("second", &server.url, json!({}));
    let world = with_browser(Proxy::new(&config));
    log_in(&world).await.expect(0);
    assert_eq!(records(&world).len(), 1);
    let servers = world.run(["list-servers", "--json"]).await.json();
    let status = |name: &str| {
        let found = servers.as_array().and_then(|servers| servers.iter().find(|server| server["name"] == name));
        found.map(|server| server["status"].clone()).unwrap_or_default()
    };
    assert_eq!((status(SERVER), status("second")), (json!("ready"), json!("login")), "{servers}");
}

#[tokio::test]
async fn log_ins_of_an_earlier_version_are_counted_once_at_the_start() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = with_browser(Proxy::new(&Config::new().remote_with(SERVER, &server.url, json!({}))));
    log_in(&world).await.expect(0);
    let [path] = records(&world).try_into().expect("one record");
    let text = fs::read_to_string(&path).expect("it is ours").replacen("\"form\":2", "\"form\":1", 1);
    fs::write(folder(&world).join("0123.json"), text).expect("it is ours");
    let mut proxy = world.stdio();
    let line = proxy.client.program.stderr.line("from an earlier version not used").await;
    assert!(line.contains("1 authorization from an earlier version"), "{line}");
    proxy.client.finish().await;
}
