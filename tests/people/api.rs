//! An API at which each person has an account of their own.

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use super::World;
use crate::support::authorization_server::AuthorizationServer;
use crate::support::browser::Browser;
use crate::support::listener;
use crate::support::message;

const PETS: &str = "\
openapi: 3.0.3
info: {title: Pets, version: 1.2.0}
paths:
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: a pet}}
";

/// An API for those who show a token of this authorization server. It answers with the token.
async fn api_behind(authorization: &AuthorizationServer) -> String {
    let (listener, url) = listener::bind().await;
    let authorization = authorization.clone();
    listener::serve(listener, move |request| {
        let answer = answer(&authorization, &request);
        async move { Some(answer) }
    });
    url
}

fn answer(authorization: &AuthorizationServer, request: &Request<Bytes>) -> Response<Body> {
    let shown = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let token = shown.and_then(|shown| shown.strip_prefix("Bearer ")).unwrap_or_default();
    match authorization.scopes_of(token) {
        Some(_) => listener::json(200, &json!({ "owner": token })),
        None => listener::json(401, &json!({"error": "who are you"})),
    }
}

async fn connect(world: &World, person: &str) {
    let browser = Browser::of(person);
    let page = browser.open(&format!("{}/connect/pets", world.url)).await;
    let page = browser.press(&page, "Sign in").await;
    let done = browser.press(&page, "Connect").await;
    assert!(done.html.contains("connected as"), "{done:?}");
}

async fn call(world: &World, person: &str) -> Value {
    world.client(person).modern_call("pets_getPet", r#"{"id":"1"}"#).await.value()
}

#[tokio::test]
async fn each_person_calls_an_api_with_an_account_of_their_own() {
    // given
    let authorization = AuthorizationServer::start().await;
    let url = api_behind(&authorization).await;
    let entry = json!({"openapi": "pets.yaml",
        "auth": {"type": "oauth", "per": "person", "issuer": authorization.issuer()}});
    let world = World::with_file_and("", "pets.yaml", PETS, |config| config.remote_with("pets", &url, entry)).await;
    let names = world.client("ann").modern("tools/list", "{}").await.tool_names();
    assert!(names.contains(&"pets_log_in".to_owned()), "{names:?}");
    let told = world.client("ann").modern_call("pets_log_in", "{}").await;
    assert!(told.raw.contains("log in at `pets` first") && told.raw.contains("/connect/pets"), "{}", told.raw);
    // when
    let mut tokens = Vec::new();
    for person in ["ann", "bob"] {
        connect(&world, person).await;
        tokens.push(authorization.newest("access"));
    }
    // then
    assert_ne!(tokens[0], tokens[1]);
    for (person, token) in [("ann", &tokens[0]), ("bob", &tokens[1]), ("ann", &tokens[0])] {
        let told = call(&world, person).await;
        assert!(told["result"].to_string().contains(token.as_str()), "{person}: {told}");
    }
    let names = world.client("carl").modern("tools/list", "{}").await.tool_names();
    assert!(!names.contains(&"pets_getPet".to_owned()), "{names:?}");
    // in a session, too
    let mut ann = world.client("ann");
    ann.initialize("2025-11-25").await.result();
    let told = ann.request("tools/call", &message::call("pets_getPet", r#"{"id":"2"}"#)).await;
    assert!(told.raw.contains(&tokens[0]), "{}", told.raw);
    // An ended log-in is renewed or asked for, and says whose it is.
    authorization.end_log_ins();
    let told = call(&world, "bob").await.to_string();
    assert!(told.contains("log in at `pets` first") && !told.contains(&tokens[0]), "{told}");
}
