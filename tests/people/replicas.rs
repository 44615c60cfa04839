//! Two replicas with one Redis: a person may begin at one and come back to the other.

use serde_json::json;

use super::{SERVER, personal, sections};
use crate::support::authorization_server::AuthorizationServer;
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::issuer::Issuer;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers::free_port;
use crate::support::redis::Redis;

const KEY: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn what_a_person_begins_at_one_replica_ends_at_the_other_and_serves_both() {
    let Some(redis) = Redis::start().await else { return };
    let (issuer, authorization) = (Issuer::start().await, AuthorizationServer::start().await);
    let server = ProtectedServer::start(&authorization).await;
    let ports = [free_port(), free_port()];
    // Both know one public address, as behind a load balancer.
    let url = format!("http://127.0.0.1:{}/mcp", ports[0]);
    let sections = sections(&issuer, &url).replace("serve: {", &format!("serve: {{stateKeys: ['{KEY}'], "));
    let config = Config::new()
        .remote_with(SERVER, &server.url, personal())
        .section(&sections)
        .section(&format!("store: {{url: '{}'}}", redis.url()));
    let mut replicas: Vec<HttpProxy> = Vec::new();
    for port in ports {
        replicas.push(Proxy::new(&config).http_at(port).await);
    }
    let other = |address: &str| address.replace(&format!(":{}/", ports[0]), &format!(":{}/", ports[1]));
    let client = |replica: &HttpProxy| {
        let token = issuer.token_with("ann", json!({"aud": url}));
        replica.client().with_header("Authorization", &format!("Bearer {token}"))
    };
    // Both have seen that ann is not logged in.
    for replica in &replicas {
        assert_eq!(client(replica).modern("tools/list", "{}").await.tool_names(), ["crm_log_in"]);
    }
    let ann = Browser::of("ann");
    let page = ann.open(&format!("{url}/connect/{SERVER}")).await;
    let hop = ann.press_only(&page, "Sign in").await;
    let answer = ann.follow_to(hop, &format!("{url}/sign-in/callback")).await;
    let page = ann.visit(&other(&answer)).await;
    let hop = ann.press_only(&page, "Connect").await;
    let answer = ann.follow_to(hop, &format!("{url}/connect/{SERVER}/callback")).await;
    let done = ann.visit(&other(&answer)).await;
    assert!(done.html.contains("connected as ann"), "{done:?}");
    for replica in &replicas {
        let answer = client(replica).modern_call("echo", r#"{"n":1}"#).await;
        assert_eq!(answer.structured(), r#"{"n":1}"#);
    }
    // Nothing about the person can be read in Redis.
    let keys = redis.ask(&["KEYS", "mcp-proxy:*"]).await;
    assert!(!keys.contains("ann"), "{keys}");
    // All find the token refused, and the authorization server knows no mercy with refresh tokens that are used twice.
    authorization.end_access_tokens();
    let (one, other) = (client(&replicas[0]), client(&replicas[1]));
    let (mut one, mut other) = (one, other);
    let (first, second) = tokio::join!(one.modern_call("echo", "{}"), other.modern_call("echo", "{}"));
    assert_eq!((first.structured(), second.structured()), ("{}".to_owned(), "{}".to_owned()));
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (1, 0));
}
