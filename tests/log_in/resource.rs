//! For whom a token is: `resource` in every request for one, as the server's metadata have it.

use serde_json::json;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::log_ins::{log_in, world_with};
use crate::support::protected_server::ProtectedServer;

const REQUESTS: [&str; 3] = ["authorize", "authorization_code", "refresh_token"];

#[tokio::test]
async fn the_resource_is_the_same_to_the_byte_in_every_request_or_in_none() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let origin = server.url.trim_end_matches("/mcp").to_owned();
    let cases = [
        (json!("auto"), Some(origin.clone())),
        (json!("none"), None),
        (json!("https://api.example/Of%20Mine/"), Some("https://api.example/Of%20Mine/".to_owned())),
    ];
    // A URL parser would add a slash.
    server.set(|rules| rules.resource = Some(origin));
    for (configured, expected) in cases {
        let world = world_with(&server.url, json!({"auth": {"type": "oauth", "resource": configured}}));
        log_in(&world).await.expect(0);
        authorization.end_access_tokens();
        world.run(["call", "echo"]).await.expect(0);
        for kind in REQUESTS {
            let seen = authorization.seen().last(kind);
            assert_eq!(seen.get("resource"), expected.as_deref(), "{configured}: {kind}");
            let times = seen.parameters.iter().filter(|(name, _)| name == "resource").count();
            assert_eq!(times, usize::from(expected.is_some()), "{configured}: {kind}");
        }
    }
}
