//! Two proxies behind a load balancer that knows nothing of sessions.

use std::collections::BTreeSet;

use super::{TOKENS, replicas};
use crate::support::balancer::{Balancing, Upstream};
use crate::support::nginx;

#[tokio::test]
async fn any_proxy_behind_nginx_serves_a_session() {
    let [one, two] = replicas(&format!("{TOKENS}\ntelemetry: {{metrics: '127.0.0.1:0'}}")).await;
    let upstreams = [Upstream::of(&one).await, Upstream::of(&two).await];
    let Some(nginx) = nginx::start(&upstreams, Balancing::InTurn).await else { return };
    for token in ["secret-token-of-a", "secret-token-of-b"] {
        let mut client = nginx.client().with_header("Authorization", &format!("Bearer {token}"));
        client.initialize("2025-11-25").await.result();
        let mut servers = BTreeSet::new();
        for number in 0..8 {
            let arguments = format!(r#"{{"number":{number}}}"#);
            assert_eq!(client.call("echo", &arguments).await.structured(), arguments);
            client.request("tools/list", "{}").await.result();
            servers.insert(client.call("pid", "{}").await.structured());
        }
        assert_eq!(servers.len(), 2, "each proxy has a server of its own: {servers:?}");
    }
}
