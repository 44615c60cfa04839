//! A replica that is killed while somebody is elsewhere, or while a call waits: another one goes on, behind one address.

use serde_json::{Value, json};

use super::{SERVER, personal, sections};
use crate::support::authorization_server::AuthorizationServer;
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::issuer::Issuer;
use crate::support::message;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers::free_port;
use crate::support::redis::Redis;

const ASKABLE: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;
const KEY: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn a_replica_that_is_killed_in_a_wait_is_replaced_by_another() {
    // given
    let Some(redis) = Redis::start().await else { return };
    let issuer = Issuer::start().await;
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    // Whichever replica serves is at this address, as behind a load balancer.
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let sections = sections(&issuer, &url).replace("serve: {", &format!("serve: {{stateKeys: ['{KEY}'], "));
    let config = Config::new()
        .remote_with(SERVER, &server.url, personal())
        .section(&sections)
        .section(&format!("store: {{url: '{}'}}", redis.url()));
    let mut serving = Proxy::new(&config).http_at(port).await;
    let killed = async |mut replica: HttpProxy| {
        replica.program.kill();
        replica.program.exit().await;
        Proxy::new(&config).http_at(port).await
    };
    let ann = Browser::of("ann");
    let page = ann.open(&format!("{url}/connect/{SERVER}")).await;
    // when: while ann is at the issuer
    let hop = ann.press_only(&page, "Sign in").await;
    serving = killed(serving).await;
    let page = ann.follow(hop).await;
    assert!(page.html.contains("You are <strong>ann"), "{page:?}");
    // and while she is at the authorization server
    let hop = ann.press_only(&page, "Connect").await;
    serving = killed(serving).await;
    let done = ann.follow(hop).await;
    assert!(done.html.contains("connected as ann"), "{done:?}");
    // and while a call of bob waits for him
    let client = |replica: &HttpProxy| {
        let token = issuer.token_with("bob", json!({"aud": url}));
        replica.client().with_header("Authorization", &format!("Bearer {token}"))
    };
    let mut call: Value = serde_json::from_str(&message::call("crm_log_in", "{}")).expect("params");
    let asked = stateless(&mut client(&serving), &call).await;
    let (key, _) = asked["result"]["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({key: {"action": "accept"}});
    serving = killed(serving).await;
    let bob = Browser::of("bob");
    let page = bob.open(&format!("{url}/connect/{SERVER}")).await;
    let page = bob.press(&page, "Sign in").await;
    let done = bob.press(&page, "Connect").await;
    assert!(done.html.contains("connected as bob"), "{done:?}");
    let answer = stateless(&mut client(&serving), &call).await;
    // then: what waited has ended with its process, and is told so; the next call has the account
    let told = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("call again without it"), "{answer}");
    for person in ["ann", "bob"] {
        let token = issuer.token_with(person, json!({"aud": url}));
        let mut client = serving.client().with_header("Authorization", &format!("Bearer {token}"));
        assert_eq!(client.modern_call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#, "{person}");
    }
    assert_eq!((authorization.seen().count("authorization_code"), issuer.redeemed_codes()), (2, 2));
}

async fn stateless(client: &mut HttpClient, params: &Value) -> Value {
    client.modern_with("tools/call", &params.to_string(), ASKABLE).await.value()
}
