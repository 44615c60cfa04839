//! Log-ins in the Redis that several proxies share.

use futures::future::join_all;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::config::Config;
use crate::support::log_ins::{SERVER, log_in, records, with_browser};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;
use crate::support::redis::Redis;

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn world(server: &ProtectedServer, redis: &Redis) -> Proxy {
    let sections = format!("store: {{url: '{}'}}\nserve: {{stateKeys: ['{KEY}']}}", redis.url());
    with_browser(Proxy::new(&Config::new().remote(SERVER, &server.url).section(&sections)))
}

#[tokio::test]
async fn a_log_in_in_redis_is_sealed_and_serves_every_proxy_with_the_key() {
    let Some(redis) = Redis::start().await else { return };
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let worlds: Vec<Proxy> = (0..3).map(|_| world(&server, &redis)).collect();
    log_in(&worlds[0]).await.expect(0);
    assert!(records(&worlds[0]).is_empty(), "no file");
    let keys = redis.ask(&["KEYS", "mcp-proxy:*:record"]).await;
    let (_, behind) = keys.split_once("mcp-proxy:{").expect("a record");
    let name: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
    let sealed = redis.ask(&["GET", &format!("mcp-proxy:{{{name}}}:record")]).await;
    assert!(!sealed.contains(&authorization.newest("refresh")), "{sealed}");
    for world in &worlds {
        world.run(["call", "echo"]).await.expect(0);
    }
    // All of them find their token refused at once, and the authorization server knows no mercy with reused ones.
    authorization.end_access_tokens();
    for finished in join_all(worlds.iter().map(|world| world.run(["call", "echo"]))).await {
        finished.expect(0);
    }
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (1, 0));
    worlds[1].run(["logout", SERVER]).await.expect(0);
    worlds[2].run(["call", "echo"]).await.expect(1);
}
