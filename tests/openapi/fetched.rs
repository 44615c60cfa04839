//! Descriptions that are fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use serde_json::json;

use super::{Api, PETS, config, said, started};
use crate::support::listener;
use crate::support::proxy::Proxy;

fn text(text: String) -> Response<axum::body::Body> {
    listener::text(200, &text)
}

#[tokio::test]
async fn a_description_is_fetched_without_credentials_and_again_after_its_ttl() {
    let fetches = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fetches);
    let site = Api::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => text(PETS.to_owned()),
        1 => listener::text(500, "try later"),
        _ => text(PETS.replace("addPet", "makePet")),
    })
    .await;
    let api = Api::of_pets().await;
    let entry = json!({"openapi": format!("{}/openapi.yaml", site.url), "url": api.url, "ttl": "1s",
        "headers": {"X-Key": "s3cret"}});
    let mut proxy = started(Proxy::new(&config(entry))).await;
    proxy.client.call("getPet", r#"{"id":"1"}"#).await.structured();
    assert_eq!(api.last_header("x-key").as_deref(), Some("s3cret"));
    assert_eq!(site.last_header("x-key"), None, "it is for the API only");
    let line = proxy.client.stderr().line("cannot use the new version of the description").await;
    assert!(line.contains("responded with HTTP 500"), "{line}");
    proxy.client.tools_until(|names| names.iter().any(|name| name == "makePet")).await;
}

#[tokio::test]
async fn the_host_of_the_description_is_its_default() {
    let site = Api::start(|request| match request.uri().path() {
        "/openapi.yaml" => text(format!("{PETS}servers: [{{url: '/v2'}}]\n")),
        path => listener::json(200, &json!({ "name": path })),
    })
    .await;
    let entry = json!({"openapi": format!("{}/openapi.yaml", site.url)});
    let mut proxy = started(Proxy::new(&config(entry))).await;
    assert_eq!(proxy.client.call("getPet", r#"{"id":"1"}"#).await.structured(), r#"{"name":"/v2/pets/1"}"#);
}

#[tokio::test]
async fn a_description_that_is_elsewhere_or_too_large_is_not_fetched() {
    let other = Api::start(|_| text(PETS.to_owned())).await;
    let target = other.url.clone();
    let site = Api::start(move |request| match request.uri().path() {
        "/moved" => Response::builder().status(302).header("location", &target).body("".into()).unwrap(),
        "/near" => Response::builder().status(302).header("location", "/pets.yaml").body("".into()).unwrap(),
        "/large" => text("x".repeat((20 << 20) + 1)),
        "/pets.yaml" => text(PETS.to_owned()),
        "/parts" => text("openapi: 3.0.0\npaths: {/a: {$ref: 'other.yaml'}}\n".to_owned()),
        _ => listener::text(404, ""),
    })
    .await;
    let listed = async |path: &str| {
        let entry = json!({"openapi": format!("{}{path}", site.url), "url": "https://api.example"});
        let proxy = Proxy::new(&config(entry));
        let checked = proxy.run(["check", "--live"]).await;
        said(&proxy, "list-servers").await + &checked.stderr
    };
    assert!(listed("/moved").await.contains("redirects to another host"));
    assert!(other.lines().is_empty());
    assert!(listed("/large").await.contains("sends more than"));
    assert!(listed("/none").await.contains("responded with HTTP 404"));
    assert!(listed("/near").await.contains("1.2.0"), "its version");
    assert!(listed("/parts").await.contains("a description from a URL must not refer to other files"));
}
