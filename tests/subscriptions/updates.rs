//! What is followed is told of: in every combination of eras and transports, under the names the client knows.

use serde_json::json;

use super::{FAREWELL, GREETING, behind_an_address, era, on_a_pipe};
use crate::support::config::Config;
use crate::support::follower::{ERAS, HttpFollower, StdioFollower, UPDATED};
use crate::support::program::Program;
use crate::support::programs::{fake_backend, rmcp_server};
use crate::support::proxy::Proxy;
use crate::support::rmcp_client::{RmcpClient, Told, legacy, modern};

async fn is_told_on_both_transports(config: &Config, modern: bool) {
    let mut client = StdioFollower::start(Proxy::new(config), modern).await;
    assert_eq!(client.follow(&[GREETING]).await, [GREETING]);
    client.call("touch", json!({"uri": GREETING})).await.result();
    assert_eq!(client.updated().await, GREETING);

    let proxy = Proxy::new(config).http().await;
    let mut client = HttpFollower::of(&proxy, modern).await;
    assert_eq!(client.follow(&[GREETING, FAREWELL]).await, [GREETING, FAREWELL]);
    client.call("touch", json!({"uri": FAREWELL})).await.result();
    while client.updated().await != FAREWELL {}
}

#[tokio::test]
async fn an_update_is_told_in_every_combination_of_eras_by_a_server_on_a_pipe() {
    for server in ERAS {
        for client in ERAS {
            is_told_on_both_transports(&on_a_pipe(server), client).await;
        }
    }
}

#[tokio::test]
async fn an_update_is_told_in_every_combination_of_eras_by_a_server_behind_an_address() {
    for server in ERAS {
        let (_server, config) = behind_an_address(server, &[]).await;
        for client in ERAS {
            is_told_on_both_transports(&config, client).await;
        }
    }
}

#[tokio::test]
async fn another_implementation_follows_resources_of_another_implementation() {
    let (_server, url) = Program::start_server(rmcp_server(["--resources", "--http", "127.0.0.1:0"])).await;
    for config in [
        Config::new().server("rmcp", &rmcp_server(["--resources"])),
        Config::new().server("rmcp", &rmcp_server(["--resources", "--legacy"])),
        Config::new().remote("rmcp", &url),
    ] {
        let proxy = Proxy::new(&config).http().await;
        let client = RmcpClient::http(&proxy.url, proxy.program.stderr.clone(), legacy()).await;
        client.subscribe(GREETING).await;
        client.call("touch", json!({})).await;
        assert!(matches!(client.told().await, Told::Updated(uri) if uri == GREETING));
        client.unsubscribe(GREETING).await;
        client.finish().await;

        let proxy = Proxy::new(&config);
        let client = RmcpClient::stdio(proxy.serve_command(), modern()).await;
        let mut subscription = client.listen_to(GREETING).await;
        client.call("touch", json!({})).await;
        assert_eq!(client.updated(&mut subscription).await, GREETING);
        client.finish().await;
    }
}

#[tokio::test]
async fn a_uri_that_fits_a_template_can_be_followed() {
    for modern in ERAS {
        let mut client = StdioFollower::start(Proxy::new(&on_a_pipe(false)), modern).await;
        assert_eq!(client.follow(&["memo://notes/today"]).await, ["memo://notes/today"]);
        client.call("touch", json!({"uri": "memo://notes/today"})).await.result();
        assert_eq!(client.updated().await, "memo://notes/today");
    }
}

const RENAMED: &str = r#"sessionInit:
  script: |
    for backend in backends().values():
        for meta, call in backend.tools():
            publish(meta, call)
        for meta, call in backend.resources():
            publish_resource(meta.replace(uri = meta.uri.replace("memo://", "team://")), call)
"#;

#[tokio::test]
async fn what_is_below_a_renamed_resource_is_told_under_the_published_name() {
    for server in ERAS {
        for client in ERAS {
            let config = on_a_pipe(server).section(RENAMED);
            let mut client = StdioFollower::start(Proxy::new(&config), client).await;
            assert_eq!(client.follow(&["team://greeting"]).await, ["team://greeting"]);
            client.call("touch", json!({"uri": GREETING})).await.result();
            assert_eq!(client.updated().await, "team://greeting");
            client.call("touch", json!({"uri": "memo://greeting/second/line"})).await.result();
            assert_eq!(client.updated().await, "team://greeting/second/line");
        }
    }
}

#[tokio::test]
async fn a_resource_that_a_script_wraps_changes_with_the_one_it_wraps() {
    let script = r#"sessionInit:
  script: |
    def wrapped(call):
        def handler(args):
            return call(args)["contents"][0]["text"].upper()
        return handler

    for backend in backends().values():
        for meta, call in backend.tools():
            publish(meta, call)
        for meta, call in backend.resources():
            publish_resource(meta, wrapped(call))
"#;
    let mut client = StdioFollower::start(Proxy::new(&on_a_pipe(false).section(script)), false).await;
    assert_eq!(client.follow(&[GREETING]).await, [GREETING]);
    client.call("touch", json!({"uri": GREETING})).await.result();
    assert_eq!(client.updated().await, GREETING);
}

#[tokio::test]
async fn what_the_only_server_does_not_list_can_be_followed_if_nothing_of_it_is_hidden() {
    let watched = "test://watched-resource";
    for modern in ERAS {
        let config = on_a_pipe(false).section("sessionInit: {preset: passthrough}");
        let mut client = StdioFollower::start(Proxy::new(&config), modern).await;
        assert_eq!(client.follow(&[watched]).await, [watched]);
        client.call("touch", json!({ "uri": watched })).await.result();
        assert_eq!(client.updated().await, watched);
        let hiding = on_a_pipe(false).section(RENAMED);
        let mut client = StdioFollower::start(Proxy::new(&hiding), modern).await;
        assert_eq!(client.follow(&[watched, GREETING, "team://greeting"]).await, ["team://greeting"]);
    }
}

#[tokio::test]
async fn nothing_is_told_any_more_once_a_client_has_unsubscribed() {
    let mut client = StdioFollower::start(Proxy::new(&on_a_pipe(false)), false).await;
    client.follow(&[GREETING, FAREWELL]).await;
    let params = json!({ "uri": GREETING }).to_string();
    assert_eq!(client.proxy.client.request("resources/unsubscribe", &params).await.result(), "{}");
    // Not following is no error either.
    assert_eq!(client.proxy.client.request("resources/unsubscribe", &params).await.result(), "{}");
    client.call("seen", json!({"wait_for": "resources/unsubscribe"})).await.result();
    client.call("touch", json!({"uri": GREETING})).await.result();
    client.call("touch", json!({"uri": FAREWELL})).await.result();
    assert_eq!(client.updated().await, FAREWELL);
    assert_eq!(client.proxy.client.unclaimed().filter(|one| one.method().as_deref() == Some(UPDATED)).count(), 0);
}

#[tokio::test]
async fn a_second_handshake_on_a_pipe_starts_without_subscriptions() {
    let mut client = StdioFollower::start(Proxy::new(&on_a_pipe(false)), false).await;
    client.follow(&[GREETING]).await;
    client.proxy.client.initialize("2025-11-25").await.result();
    client.call("seen", json!({"wait_for": "resources/unsubscribe"})).await.result();
}

#[tokio::test]
async fn an_update_that_comes_while_no_stream_is_open_is_told_once_when_it_opens() {
    let proxy = Proxy::new(&on_a_pipe(false)).http().await;
    let mut client = HttpFollower::of(&proxy, false).await;
    client.stream = None;
    client.follow(&[GREETING, FAREWELL]).await;
    for _ in 0..3 {
        client.call("touch", json!({"uri": GREETING})).await.result();
    }
    client.stream = Some(client.client.get_stream().await);
    // The closed stream may have taken the first of them along.
    client.call("touch", json!({"uri": FAREWELL})).await.result();
    let mut greetings = 0;
    while client.updated().await != FAREWELL {
        greetings += 1;
    }
    assert!(greetings <= 1, "told {greetings} times");
}

#[tokio::test]
async fn both_eras_say_that_resources_can_be_followed() {
    let config = Config::new().server("fake", &fake_backend(["--era", era(false)]));
    let mut proxy = Proxy::new(&config).stdio();
    let client = &mut proxy.client;
    let answer = client.initialize("2025-11-25").await.value();
    assert_eq!(answer["result"]["capabilities"]["resources"]["subscribe"], true);
    let answer = client.modern("server/discover", "{}").await.value();
    assert_eq!(answer["result"]["capabilities"]["resources"]["subscribe"], true);
    // The stateless era has another way.
    assert_eq!(client.modern("resources/subscribe", r#"{"uri":"memo://greeting"}"#).await.error_code(), -32601);
}
