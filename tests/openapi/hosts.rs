//! Only the host of the config is contacted.

use http::Response;
use serde_json::json;

use super::{Api, PETS, config, pets, said, started};
use crate::support::listener;
use crate::support::proxy::Proxy;

fn with_server(url: &str) -> String {
    format!("{PETS}servers: [{{url: '{url}'}}]\n")
}

#[tokio::test]
async fn the_url_of_the_config_wins_over_that_of_the_description() {
    let api = Api::of_pets().await;
    let evil = Api::of_pets().await;
    let text = with_server(&evil.url);
    let entry = json!({"openapi": "pets.yaml", "url": format!("{}/v1/?tenant=t1", api.url)});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", &text)).await;
    proxy.client.call("getPet", r#"{"id":"1","verbose":false}"#).await.result();
    assert_eq!(api.lines(), ["GET /v1/pets/1?tenant=t1&verbose=false"]);
    assert!(evil.lines().is_empty());
}

#[tokio::test]
async fn without_url_the_description_may_name_a_public_host_only() {
    let entry = json!({"openapi": "pets.yaml"});
    for (url, problem) in [
        ("http://127.0.0.1:9/", "set `url`"),
        ("https://10.0.0.1/", "set `url`"),
        ("https://169.254.169.254/latest", "set `url`"),
        ("https://localhost/", "set `url`"),
        ("http://pets.example/", "must use HTTPS; set `url`"),
        ("/api/v1", "it does not say where the API is (`servers`): set `url`"),
    ] {
        let proxy = Proxy::new(&config(entry.clone())).file("pets.yaml", &with_server(url));
        let listed = said(&proxy, "list-servers").await;
        assert!(listed.contains("failed") && listed.contains(problem), "{url}: {listed}");
    }
    let proxy = Proxy::new(&config(entry)).file("pets.yaml", &with_server("https://pets.example/v1"));
    let checked = said(&proxy, "check").await;
    assert!(checked.contains("requests go to `https://pets.example/v1`, which the description names"), "{checked}");
}

#[tokio::test]
async fn a_description_cannot_move_to_another_host_while_it_is_used() {
    let entry = json!({"openapi": "pets.yaml"});
    let proxy = Proxy::new(&config(entry)).file("pets.yaml", &with_server("https://pets.example/v1"));
    let proxy = started(proxy).await;
    proxy.world.directory.write("pets.yaml", &with_server("https://evil.example/v1"));
    let line = proxy.client.stderr().line("cannot use the new version").await;
    assert!(line.contains("names `https://evil.example` now and not `https://pets.example`"), "{line}");
}

#[tokio::test]
async fn redirects_are_followed_on_the_host_and_nowhere_else() {
    let evil = Api::of_pets().await;
    let target = evil.url.clone();
    let api = Api::start(move |request| {
        let to = match request.uri().path() {
            "/pets/near" => "/pets/2".to_owned(),
            "/pets/far" => format!("{target}/pets/2"),
            "/pets/round" => "/pets/round".to_owned(),
            _ => return listener::json(200, &json!({"name": request.uri().path()})),
        };
        Response::builder().status(302).header("location", to).body("".into()).unwrap()
    })
    .await;
    let mut proxy = started(
        Proxy::new(&config(json!({"openapi": "pets.yaml", "url": api.url, "headers": {"X-Key": "s3cret"}})))
            .file("pets.yaml", PETS),
    )
    .await;
    let near = proxy.client.call("getPet", r#"{"id":"near"}"#).await;
    assert_eq!(near.structured(), r#"{"name":"/pets/2"}"#);
    let far = proxy.client.call("getPet", r#"{"id":"far"}"#).await;
    assert!(far.result().contains("\"isError\":true") && far.text().contains("HTTP 302 Found"), "{}", far.result());
    assert!(far.text().contains("(not followed)"), "{}", far.text());
    assert!(evil.lines().is_empty(), "neither the request nor its key went there");
    let round = proxy.client.call("getPet", r#"{"id":"round"}"#).await;
    assert!(round.text().contains("redirects more than 5 times"), "{}", round.text());
    // What changes something is not sent again.
    let sent = api.lines().len();
    let deleted = proxy.client.call("deletePet", r#"{"id":"near"}"#).await;
    assert!(deleted.text().contains("HTTP 302"), "{}", deleted.text());
    assert_eq!(api.lines().len(), sent + 1);
}

#[tokio::test]
async fn keys_in_the_url_are_in_no_result_and_no_log() {
    let api = Api::start(|request| {
        let there = format!("https://other.example{}", request.uri());
        let response = Response::builder().status(302).header("location", &there).header("content-type", "text/plain");
        response.body(format!("Found. Redirecting to {there}").into()).unwrap()
    })
    .await;
    let entry = json!({"openapi": "pets.yaml", "url": format!("{}/s3cret-token/v1?api_key=s3cret-key", api.url)});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", PETS).argument("-vv")).await;
    for (tool, path) in [("getPet", "/pets/1"), ("deletePet", "/pets/1")] {
        let called = proxy.client.call(tool, r#"{"id":"1"}"#).await;
        assert_eq!(called.text(), "HTTP 302 Found\nLocation: https://other.example (not followed)");
        assert!(!called.raw.contains("s3cret"), "{}", called.raw);
        let line = proxy.client.stderr().line("sends a request").await;
        assert!(line.contains(path), "{line}");
    }
    assert_eq!(api.lines()[0], "GET /s3cret-token/v1/pets/1?api_key=s3cret-key");
    let log = proxy.client.stderr().text();
    assert!(!log.contains("s3cret"), "{log}");
}

#[tokio::test]
async fn an_api_that_is_not_there_is_an_error_of_the_call() {
    let api = Api::of_pets().await;
    let (listener, gone) = listener::bind().await;
    drop(listener);
    let entry = json!({"openapi": "pets.yaml", "url": gone, "circuitBreaker": {"failures": 2}});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", PETS)).await;
    for _ in 0..2 {
        let failed = proxy.client.call("getPet", r#"{"id":"1"}"#).await;
        assert!(failed.text().contains("cannot connect"), "{}", failed.text());
    }
    let suspended = proxy.client.call("getPet", r#"{"id":"1"}"#).await;
    assert!(suspended.text().contains("temporarily disabled after 2 consecutive failures"), "{}", suspended.text());
    let mut working = pets(&api).await;
    working.client.call("getPet", r#"{"id":"1"}"#).await.structured();
}

#[tokio::test]
async fn an_api_that_says_it_is_broken_is_left_alone_for_a_while() {
    let api = Api::start(|request| {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default();
        listener::json(name.parse().unwrap_or(200), &json!({ "why": name }))
    })
    .await;
    let entry = json!({"openapi": "pets.yaml", "url": api.url, "circuitBreaker": {"failures": 3, "cooldown": "10m"}});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", PETS)).await;
    // Errors of the request, and what the API does not have at all, are answers: they begin the count anew.
    for status in ["503", "500", "404", "502", "504", "429", "503", "503", "501", "500", "599", "rex"] {
        let called = proxy.client.call("getPet", &json!({"id": status}).to_string()).await;
        assert!(called.text().contains(status), "{}", called.text());
    }
    for _ in 0..3 {
        let failed = proxy.client.call("getPet", r#"{"id":"503"}"#).await;
        assert!(failed.text().starts_with("HTTP 503 Service Unavailable"), "the client gets it: {}", failed.text());
    }
    let sent = api.lines().len();
    let refused = proxy.client.call("getPet", r#"{"id":"rex"}"#).await.text();
    assert!(refused.contains("temporarily disabled after 3 consecutive failures (last: HTTP 503)"), "{refused}");
    assert_eq!(api.lines().len(), sent, "nothing was sent");
    assert_eq!(proxy.status().await["servers"][0]["breakerOpen"], true);
}
