//! Logging in for an API whose authorization server publishes no metadata.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use serde_json::{Value, json};
use url::Url;

use super::{Api, PETS, value};
use crate::support::config::Config;
use crate::support::listener;
use crate::support::log_ins::{SERVER, log_in, with_browser};
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

/// An API, and a person with a browser who may log in for it.
fn world(api: &Api, auth: Value) -> Proxy {
    let entry = json!({"openapi": "pets.yaml", "url": api.url, "auth": auth});
    let config = Config::new().section(&format!("mcpServers: {}", json!({ SERVER: entry })));
    with_browser(Proxy::new(&config)).file("pets.yaml", PETS)
}

/// An authorization server with two endpoints and nothing else. Its redirects name this issuer, if any.
async fn authorization_server(issuer: Option<&'static str>) -> Api {
    Api::start(move |request| match request.uri().path() {
        "/authorize" => {
            let asked = Url::parse(&format!("http://here{}", request.uri())).expect("a URL");
            let parameter = |name: &str| asked.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value);
            let mut back = Url::parse(&parameter("redirect_uri").expect("it is asked for")).expect("a URL");
            back.query_pairs_mut()
                .append_pair("code", "c0de")
                .append_pair("state", &parameter("state").expect("a state"));
            back.query_pairs_mut().extend_pairs(issuer.map(|issuer| ("iss", issuer)));
            Response::builder().status(302).header("location", back.as_str()).body("".into()).expect("a response")
        }
        "/token" => listener::json(200, &json!({"access_token": "fresh", "token_type": "Bearer", "expires_in": 3600})),
        _ => listener::text(404, ""),
    })
    .await
}

/// An API for those who show the token of that server.
async fn protected_api() -> Api {
    Api::start(|request| match request.headers().get("authorization").and_then(|value| value.to_str().ok()) {
        Some("Bearer fresh") => listener::json(200, &json!({"name": "Rex"})),
        _ => listener::json(401, &json!({"error": "who are you"})),
    })
    .await
}

fn endpoints(server: &str) -> Value {
    json!({"type": "oauth", "authorizationUrl": format!("{server}/authorize?prompt=consent"),
        "tokenUrl": format!("{server}/token"), "clientId": "me", "clientSecret": "s3cret", "scopes": ["read"]})
}

#[tokio::test]
async fn a_person_logs_in_at_the_endpoints_of_the_config() {
    let server = authorization_server(None).await;
    let api = protected_api().await;
    let world = world(&api, endpoints(&server.url));
    let before = world.run(["call", "getPet", "id=1"]).await.expect(1).stderr;
    assert!(before.contains("`proxy login cloud`"), "{before}");
    log_in(&world).await.expect(0);
    assert!(world.run(["call", "getPet", "id=1"]).await.expect(0).stdout.contains("Rex"));
    let asked = server.lines();
    assert_eq!(asked.len(), 2, "metadata are not asked for: {asked:?}");
    for part in ["prompt=consent", "client_id=me", "code_challenge_method=S256", "scope=read"] {
        assert!(asked[0].starts_with("GET /authorize?") && asked[0].contains(part), "{part}: {}", asked[0]);
    }
    assert!(!asked[0].contains("resource="), "nothing tells of a resource: {}", asked[0]);
    assert_eq!(asked[1], "POST /token");
    assert_eq!(server.last_header("authorization").as_deref(), Some("Basic bWU6czNjcmV0"));
    assert!(server.last_body().contains("code_verifier="), "{}", server.last_body());
    // Another place for tokens is another log-in: what the first one gave is not sent there.
    let mut other = endpoints(&server.url);
    other["tokenUrl"] = json!("http://127.0.0.1:1/token");
    let entry = json!({"openapi": "pets.yaml", "url": api.url, "auth": other});
    let world = world.file("proxy.yaml", &format!("mcpServers: {}", json!({ SERVER: entry })));
    let moved = world.run(["call", "getPet", "id=1"]).await.expect(1).stderr;
    assert!(moved.contains("`proxy login cloud`"), "{moved}");
}

#[tokio::test]
async fn a_redirect_that_names_another_server_is_refused_unless_the_config_names_it() {
    let server = authorization_server(Some("https://login.example/tenant")).await;
    let api = protected_api().await;
    let refused = log_in(&world(&api, endpoints(&server.url))).await.expect(1).stderr;
    assert!(refused.contains("the redirect has `iss` `https://login.example/tenant`"), "{refused}");
    assert_eq!(server.lines().len(), 1, "the code was not sent: {:?}", server.lines());
    let mut named = endpoints(&server.url);
    named["issuer"] = json!("https://login.example/tenant");
    let world = world(&api, named);
    log_in(&world).await.expect(0);
    assert!(world.run(["call", "getPet", "id=1"]).await.expect(0).stdout.contains("Rex"));
}

#[tokio::test]
async fn the_proxy_logs_in_as_itself_at_a_token_endpoint() {
    let server = authorization_server(None).await;
    let api = protected_api().await;
    let auth = json!({"type": "clientCredentials", "tokenUrl": format!("{}/token", server.url), "clientId": "me",
        "clientSecret": "s3cret", "scopes": ["read"]});
    let world = world(&api, auth);
    assert!(world.run(["call", "getPet", "id=1"]).await.expect(0).stdout.contains("Rex"));
    assert_eq!(server.lines(), ["POST /token"]);
    assert_eq!(server.last_body(), "grant_type=client_credentials&scope=read");
}

/// An API that refuses the first token it sees, so that it is renewed. It keeps the newest.
async fn forgetful_api() -> (Api, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::<String>::new()));
    let tokens = Arc::clone(&seen);
    let api = Api::start(move |request: &Request<bytes::Bytes>| {
        let mut tokens = tokens.lock().expect("no test panics with it");
        let shown = request.headers().get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !tokens.iter().any(|known| known == shown) {
            tokens.push(shown.to_owned());
        }
        if tokens[0] == shown {
            return Response::builder()
                .status(401)
                .header("www-authenticate", "Bearer")
                .body("".into())
                .expect("a response");
        }
        listener::json(200, &json!({"name": "Rex"}))
    })
    .await;
    (api, seen)
}

#[tokio::test]
#[ignore = "an authorization server of other people, which is installed first"]
async fn oidc_provider_without_metadata_is_logged_in_at_by_a_person_and_by_the_proxy() {
    let Some((mut command, issuer)) = real_servers::oidc_provider("opaque") else { return };
    command.env("WITHOUT_METADATA", "1");
    let (mut program, _stdin, _stdout) = Program::start(command);
    program.stderr.patience = LONG_PATIENCE;
    program.stderr.line("listening on").await;
    let secret = "secret-of-the-api";
    let person = json!({"type": "oauth", "authorizationUrl": format!("{issuer}/auth"),
        "tokenUrl": format!("{issuer}/token"), "clientId": "api", "clientSecret": secret, "scopes": ["tools"]});
    let itself = json!({"type": "clientCredentials", "tokenUrl": format!("{issuer}/token"), "clientId": "api",
        "clientSecret": secret, "scopes": ["tools"]});
    for (auth, subject) in [(person, json!("ann")), (itself, Value::Null)] {
        let (api, seen) = forgetful_api().await;
        let is_person = auth["type"] == "oauth";
        let world = world(&api, auth);
        if is_person {
            log_in(&world).await.expect(0);
        }
        for _ in 0..2 {
            assert!(world.run(["call", "getPet", "id=1"]).await.expect(0).stdout.contains("Rex"));
        }
        let newest = seen.lock().expect("no test panics with it").last().cloned().expect("a token was shown");
        let token = newest.strip_prefix("Bearer ").expect("a token");
        let introspected = reqwest::Client::builder().no_proxy().build().expect("a client");
        let introspected = introspected
            .post(format!("{issuer}/token/introspection"))
            .basic_auth("door", Some("secret-of-the-door"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("token={token}"));
        let told = introspected.send().await.expect("it answers").text().await.expect("a text");
        let told = value(&told);
        assert_eq!(
            (&told["active"], &told["client_id"], &told["scope"]),
            (&json!(true), &json!("api"), &json!("tools"))
        );
        assert_eq!(told["sub"], subject, "{told}");
    }
    let log = program.stderr.text();
    assert!(!log.contains("refused"), "{log}");
    for granted in ["authorization_code", "refresh_token", "client_credentials"] {
        assert!(log.contains(&format!("granted {granted}")), "{granted}: {log}");
    }
}
