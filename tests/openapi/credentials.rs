//! What an API is shown, and what `check` says is missing.

use http::Response;
use serde_json::json;

use super::{Api, PETS, config, said, started, value};
use crate::support::issuer::{AUDIENCE, Issuer};
use crate::support::listener;
use crate::support::proxy::Proxy;
use crate::support::token_endpoint::TokenEndpoint;

const SECURITY: &str = "\
security: [{key: []}, {token: []}]
";

fn with_security() -> String {
    let schemes = "  securitySchemes:\n    key: {type: apiKey, in: query, name: api_key}\n    token: {type: http, scheme: bearer}\n";
    format!("{PETS}{schemes}{SECURITY}")
}

#[tokio::test]
async fn check_tells_which_credentials_are_missing() {
    let missing = "the API asks for credentials that the config does not have";
    let url = "https://pets.example";
    for (entry, is_missing) in [
        (json!({"openapi": "pets.yaml", "url": url}), true),
        (json!({"openapi": "pets.yaml", "url": format!("{url}/?api_key=k")}), false),
        (json!({"openapi": "pets.yaml", "url": url, "headers": {"Authorization": "Bearer t"}}), false),
    ] {
        let proxy = Proxy::new(&config(entry.clone())).file("pets.yaml", &with_security());
        let checked = said(&proxy, "check").await;
        assert_eq!(checked.contains(missing), is_missing, "{entry}: {checked}");
        if is_missing {
            assert!(checked.contains("?api_key=") && checked.contains("Bearer"), "{checked}");
        }
    }
}

#[tokio::test]
async fn headers_and_keys_of_the_config_are_sent_and_are_no_arguments() {
    let api = Api::of_pets().await;
    let parameters = "parameters: [{name: X-Key, in: header, required: true, schema: {type: string}}, \
                      {name: api_key, in: query, schema: {type: string}}, {name: extra, in: query, schema: {type: object}}, ";
    let text = with_security().replacen("parameters: [{name: verbose", &format!("{parameters}{{name: verbose"), 1);
    let entry =
        json!({"openapi": "pets.yaml", "url": format!("{}?api_key=s3cret", api.url), "headers": {"X-Key": "k"}});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", &text)).await;
    let listed = value(&proxy.client.request("tools/list", "{}").await.result());
    let names: Vec<&String> = listed["tools"][0]["inputSchema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "extra", "verbose"]);
    proxy.client.call("getPet", r#"{"id":"1","extra":{"a":1}}"#).await.structured();
    assert_eq!(api.lines(), ["GET /pets/1?api_key=s3cret&a=1"]);
    assert_eq!(api.last_header("x-key").as_deref(), Some("k"));
    let forged = proxy.client.call("getPet", r#"{"id":"1","extra":{"api_key":"mine"}}"#).await;
    assert!(forged.text().contains("must not have the key `api_key`"), "{}", forged.text());
    assert_eq!(api.lines().len(), 1);
    assert!(!proxy.client.stderr().text().contains("s3cret"));
}

#[tokio::test]
async fn the_proxy_logs_in_as_itself_and_again_when_its_token_is_refused() {
    let metadata = Api::start(|request| match request.uri().path() {
        "/token" => listener::json(200, &json!({"access_token": "fresh", "token_type": "Bearer", "expires_in": 3600})),
        path if path.starts_with("/.well-known/") => {
            let origin = format!("http://{}", request.headers()["host"].to_str().unwrap());
            listener::json(
                200,
                &json!({"issuer": origin, "token_endpoint": format!("{origin}/token"),
                "authorization_endpoint": format!("{origin}/authorize"), "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"]}),
            )
        }
        _ => listener::text(404, ""),
    })
    .await;
    let api =
        Api::start(|request| match request.headers().get("authorization").and_then(|value| value.to_str().ok()) {
            Some("Bearer fresh") if request.uri().path() == "/pets/forbidden" => {
                listener::json(403, &json!({"why": "not yours"}))
            }
            Some("Bearer fresh") => listener::json(200, &json!({"name": "Rex"})),
            _ => Response::builder().status(401).header("www-authenticate", "Bearer").body("".into()).unwrap(),
        })
        .await;
    let auth = json!({"type": "clientCredentials", "issuer": metadata.url, "clientId": "me", "clientSecret": "s3cret"});
    let entry = json!({"openapi": "pets.yaml", "url": api.url, "auth": auth});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", PETS)).await;
    assert_eq!(proxy.client.call("getPet", r#"{"id":"1"}"#).await.structured(), r#"{"name":"Rex"}"#);
    let forbidden = proxy.client.call("getPet", r#"{"id":"forbidden"}"#).await;
    assert!(forbidden.text().contains("HTTP 403") && forbidden.text().contains("not yours"), "{}", forbidden.text());
    let token_requests = metadata.lines().iter().filter(|line| line.as_str() == "POST /token").count();
    assert_eq!(token_requests, 1, "{:?}", metadata.lines());
}

#[tokio::test]
async fn without_credentials_a_refusal_is_a_result() {
    let api = Api::start(|_| listener::json(401, &json!({"error": "who are you"}))).await;
    let mut proxy = super::pets(&api).await;
    let refused = proxy.client.call("getPet", r#"{"id":"1"}"#).await;
    assert!(refused.text().contains("HTTP 401") && refused.text().contains("who are you"), "{}", refused.text());
    assert_eq!(proxy.status().await["servers"][0]["status"], "ready");
}

#[tokio::test]
async fn each_caller_has_a_token_of_their_own() {
    let issuer = Issuer::start().await;
    let endpoint = TokenEndpoint::start().await;
    let api = Api::start(|request| {
        let shown = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        listener::json(200, &json!({ "name": shown }))
    })
    .await;
    let auth = json!({"type": "tokenExchange", "tokenUrl": endpoint.url, "clientId": "proxy", "clientSecret": "s3cret",
        "audience": "pets", "subjectIssuer": issuer.url});
    let entry = json!({"openapi": "pets.yaml", "url": api.url, "auth": auth});
    let trusted = format!("auth: {{issuers: [{{issuer: '{}', audiences: ['{AUDIENCE}']}}]}}", issuer.url);
    let proxy = Proxy::new(&config(entry).section(&trusted)).file("pets.yaml", PETS).http().await;
    let mut shown = Vec::new();
    for sub in ["ann", "bob"] {
        let token = issuer.token(sub);
        let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
        let listed = client.modern("tools/list", "{}").await;
        assert_eq!(listed.tool_names(), ["getPet", "deletePet", "addPet"]);
        assert_eq!(listed.value()["result"]["cacheScope"], "private");
        let called = value(&client.modern_call("getPet", r#"{"id":"1"}"#).await.structured());
        let name = called["name"].as_str().expect("the API was shown something").to_owned();
        assert!(name.starts_with("Bearer ") && !name.contains(&token), "{name}");
        shown.push(name);
    }
    assert_ne!(shown[0], shown[1]);
}
