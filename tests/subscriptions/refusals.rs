//! What cannot be followed, and how each era says so.

use serde_json::{Value, json};

use super::{GREETING, behind_an_address, era, on_a_pipe};
use crate::support::config::Config;
use crate::support::follower::{ERAS, HttpFollower, StdioFollower};
use crate::support::in_process::Proxy;
use crate::support::message::Message;
use crate::support::modern::{modern_meta, with_meta};
use crate::support::programs::fake_backend;

/// Two servers, one of which cannot be followed, and a resource of the script's own.
fn mixed(modern: bool) -> Config {
    let script = r#"sessionInit:
  script: |
    def own(args):
        return "mine"

    for backend in backends().values():
        for meta, call in backend.tools():
            if backend.name == "fake":
                publish(meta, call)
        for meta, call in backend.resources():
            prefix = backend.name + "+"
            publish_resource(meta.replace(uri = prefix + meta.uri), call)
    publish_resource(resource_metadata("own://one", "one"), own)
"#;
    let flags = ["--era", era(modern), "--resources"];
    Config::new()
        .server("fake", &fake_backend(flags))
        .server("deaf", &fake_backend(flags.into_iter().chain(["--no-subscribe"])))
        .section(script)
}

async fn subscribe(client: &mut StdioFollower, uri: &str) -> Message {
    client.proxy.client.request("resources/subscribe", &json!({ "uri": uri }).to_string()).await
}

#[tokio::test]
async fn a_session_is_told_why_something_cannot_be_followed() {
    for server in ERAS {
        let mut client = StdioFollower::start(Proxy::new(&mixed(server)), false).await;
        let unknown = subscribe(&mut client, "other://thing").await;
        assert_eq!(unknown.error_code(), -32002);
        assert_eq!(unknown.value()["error"]["data"], json!({"uri": "other://thing"}));
        let deaf = subscribe(&mut client, "deaf+memo://greeting").await;
        assert_eq!(deaf.error_code(), -32602);
        assert_eq!(deaf.error_message(), "server `deaf` does not support resource subscriptions");
        let own = subscribe(&mut client, "own://one").await;
        assert_eq!(own.error_code(), -32602);
        assert_eq!(own.error_message(), "cannot subscribe to `own://one`: the script generates it on every read");
        assert_eq!(subscribe(&mut client, "fake+memo://greeting").await.result(), "{}");
        for params in ["{}", r#"{"uri":7}"#, r#"{"uri":"a:b","uri":"c:d"}"#] {
            assert_eq!(client.proxy.client.request("resources/subscribe", params).await.error_code(), -32602);
        }
    }
}

#[tokio::test]
async fn what_is_excluded_cannot_be_followed_through_a_template() {
    let excluding = "aggregation: { resources: [{ workload: fake, exclude: [\"memo://notes/secret*\"] }] }";
    for server in ERAS {
        for client in ERAS {
            let config = on_a_pipe(server).section(excluding);
            let mut client = StdioFollower::start(Proxy::new(&config), client).await;
            assert_eq!(client.follow(&["memo://notes/secret-1", GREETING]).await, [GREETING]);
        }
    }
    let mut client = StdioFollower::start(Proxy::new(&on_a_pipe(false).section(excluding)), false).await;
    let refused = subscribe(&mut client, "memo://notes/secret-1").await;
    assert_eq!(refused.error_code(), -32602, "{}", refused.raw);
}

#[tokio::test]
async fn the_view_of_a_server_without_subscriptions_has_no_such_method() {
    let deaf = fake_backend(["--era", era(false), "--resources", "--no-subscribe"]);
    let config = Config::new().server("deaf", &deaf).section("sessionInit: {preset: passthrough}");
    let mut client = StdioFollower::start(Proxy::new(&config), false).await;
    assert_eq!(subscribe(&mut client, GREETING).await.error_code(), -32601);
    let told = client.proxy.client.initialize("2025-11-25").await.value();
    assert_eq!(told["result"]["capabilities"]["resources"].get("subscribe"), None);
    let mut client = StdioFollower::start(Proxy::new(&config), true).await;
    assert_eq!(client.follow(&[GREETING]).await, [""; 0]);
}

#[tokio::test]
async fn an_acknowledgment_names_what_the_servers_accepted_and_nothing_else() {
    for server in ERAS {
        let proxy = Proxy::new(&mixed(server)).http().await;
        let mut client = HttpFollower::of(&proxy, true).await;
        let asked = ["other://thing", "deaf+memo://greeting", "fake+memo://greeting", "own://one"];
        assert_eq!(client.follow(&asked).await, ["fake+memo://greeting"]);
        client.call("touch", json!({"uri": GREETING})).await.result();
        assert_eq!(client.updated().await, "fake+memo://greeting");
        assert_eq!(client.follow(&["own://one"]).await, [""; 0]);
    }
}

#[tokio::test]
async fn what_the_server_itself_refuses_is_refused() {
    for server in ERAS {
        // Nothing of the only server is hidden, so that only the server can know.
        let config = on_a_pipe(server).section("sessionInit: {preset: passthrough}");
        let mut client = StdioFollower::start(Proxy::new(&config), false).await;
        let refused = subscribe(&mut client, "other://7").await;
        // A session-based server says that there is no such resource; a stateless one just leaves it out.
        assert_eq!(refused.error_code(), if server { -32602 } else { -32002 }, "{}", refused.raw);
        let mut client = StdioFollower::start(Proxy::new(&config), true).await;
        assert_eq!(client.follow(&["other://7"]).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_left_out_of_the_acknowledgment_after_a_while() {
    let directory = crate::support::temp_dir::TempDir::new();
    let faults = directory.write("faults", "ignore resources/subscribe\n");
    let faults = faults.to_str().expect("a path is text");
    let (_server, config) = behind_an_address(false, &["--faults", faults]).await;
    let proxy = Proxy::new(&config).http().await;
    let mut client = HttpFollower::of(&proxy, true).await;
    assert_eq!(client.follow(&[GREETING]).await, [""; 0]);
}

#[tokio::test]
async fn a_listen_for_something_that_is_no_list_of_uris_is_refused() {
    let mut proxy = Proxy::new(&on_a_pipe(false)).stdio();
    let client = &mut proxy.client;
    for wrong in [json!("memo://greeting"), json!([7]), json!({}), json!(vec!["memo://greeting"; 1001])] {
        let params = json!({"notifications": {"resourceSubscriptions": wrong}}).to_string();
        assert_eq!(client.modern("subscriptions/listen", &params).await.error_code(), -32602);
    }
}

#[tokio::test]
async fn the_id_of_a_listen_keeps_its_type() {
    let mut proxy = Proxy::new(&on_a_pipe(false)).stdio();
    let client = &mut proxy.client;
    let params = json!({"notifications": {"resourceSubscriptions": [GREETING, GREETING], "unheardOf": true}});
    let params = with_meta(&params.to_string(), &modern_meta());
    for id in ["7", r#""7""#] {
        client.send(&crate::support::message::request(id, "subscriptions/listen", &params)).await;
        let first = client.expect_notification("notifications/subscriptions/acknowledged").await.value();
        assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].to_string(), id);
        assert_eq!(first["params"]["notifications"], json!({"resourceSubscriptions": [GREETING]}));
    }
    client.modern_call("touch", &json!({"uri": GREETING}).to_string()).await.result();
    let mut told: Vec<String> = Vec::new();
    for _ in 0..2 {
        let updated = client.expect_notification("notifications/resources/updated").await.value();
        told.push(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].to_string());
    }
    told.sort();
    assert_eq!(told, [r#""7""#, "7"], "each listen is told under its own id");
}

#[tokio::test]
async fn a_client_can_follow_a_thousand_and_no_more() {
    let mut client = StdioFollower::start(Proxy::new(&on_a_pipe(false)), false).await;
    let params = |number: usize| json!({"uri": format!("memo://notes/{number}")}).to_string();
    let mut begun = Vec::new();
    for number in 0..1000 {
        begun.push(client.proxy.client.begin("resources/subscribe", &params(number)).await);
    }
    for id in begun {
        client.proxy.client.response(&id).await.result();
    }
    let refused = client.proxy.client.request("resources/subscribe", &params(1000)).await;
    assert_eq!(refused.error_code(), -32603);
    assert_eq!(refused.error_message(), "too many subscriptions: the limit is 1000 per client");
    // What it follows already, and what takes the place of another, is no more than before.
    client.proxy.client.request("resources/subscribe", &params(7)).await.result();
    client.proxy.client.request("resources/unsubscribe", &params(7)).await.result();
    client.proxy.client.request("resources/subscribe", &params(1000)).await.result();
    client.call("touch", json!({"uri": "memo://notes/1000"})).await.result();
    assert_eq!(client.updated().await, "memo://notes/1000");
    let _: Value = client.call("echo", json!({})).await.value();
}
