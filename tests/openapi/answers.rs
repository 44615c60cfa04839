//! What becomes of the answers of an API that are not what one hopes for.

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use serde_json::json;

use super::{Api, PETS, config, started};
use crate::support::listener;
use crate::support::measure::kilobytes;
use crate::support::proxy::Proxy;

fn typed(status: u16, content_type: &str, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).header("content-type", content_type).body(body.into()).expect("a response")
}

/// An API that answers by the name of the pet.
async fn api() -> Api {
    Api::start(|request| match request.uri().path() {
        "/pets/busy" => {
            let date = "Wed, 21 Oct 2026 07:28:00 GMT";
            let builder = Response::builder().status(429).header("retry-after", date);
            builder.body(r#"{"error":"slow down"}"#.into()).expect("a response")
        }
        "/pets/broken" => typed(503, "text/plain", "maintenance"),
        "/pets/cut" => typed(200, "application/json", r#"{"name": "#),
        "/pets/page" => typed(200, "text/html", "<h1>Log in</h1>"),
        "/pets/other" => typed(200, "application/json", r#"{"name": 1}"#),
        "/pets/picture" => typed(200, "image/png", &b"\x89PNG"[..]),
        "/pets/file" => typed(200, "application/zip", &b"PK"[..]),
        "/pets/endless" => {
            let chunk = Bytes::from(vec![b'x'; 1 << 20]);
            let chunks = futures::stream::iter((0..1024).map(move |_| Ok::<_, std::io::Error>(chunk.clone())));
            typed(200, "application/json", Body::from_stream(chunks))
        }
        _ => listener::json(404, &json!({"error": "no such pet"})),
    })
    .await
}

#[tokio::test]
async fn errors_are_results_that_tell_what_to_do() {
    let api = api().await;
    let mut proxy = super::pets(&api).await;
    for (id, parts) in [
        ("busy", &["HTTP 429 Too Many Requests", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", "slow down"][..]),
        ("broken", &["HTTP 503 Service Unavailable", "maintenance"]),
        ("none", &["HTTP 404 Not Found", "no such pet"]),
        ("cut", &["HTTP 200 OK, but the response cannot be read as JSON", "{\"name\": "]),
    ] {
        let answer = proxy.client.call("getPet", &json!({ "id": id }).to_string()).await;
        assert!(answer.result().contains("\"isError\":true"), "{id}: {}", answer.result());
        for part in parts {
            assert!(answer.text().contains(part), "{id}: {part} is not in {}", answer.text());
        }
    }
}

#[tokio::test]
async fn other_types_are_content_and_the_promise_of_a_schema_is_withdrawn() {
    let api = api().await;
    let mut proxy = super::pets(&api).await;
    let listed = proxy.client.request("tools/list", "{}").await.result();
    assert!(listed.contains("outputSchema"), "{listed}");
    let page = proxy.client.call("getPet", r#"{"id":"page"}"#).await;
    assert!(page.result().contains("<h1>Log in</h1>"), "{}", page.result());
    proxy.client.stderr().line("a response is not as the description says").await;
    proxy.client.expect_notification("notifications/tools/list_changed").await;
    assert!(!proxy.client.request("tools/list", "{}").await.result().contains("outputSchema"));
    let other = proxy.client.call("getPet", r#"{"id":"other"}"#).await;
    assert_eq!(other.structured(), r#"{"name": 1}"#);
    let log = proxy.client.stderr().text();
    assert_eq!(log.matches("a response is not as the description says").count(), 1, "{log}");
    let picture = proxy.client.call("getPet", r#"{"id":"picture"}"#).await.result();
    assert!(picture.contains(r#""type":"image","data":"iVBORw==","mimeType":"image/png""#), "{picture}");
    let file = proxy.client.call("getPet", r#"{"id":"file"}"#).await.result();
    assert!(file.contains(r#""mimeType":"application/zip","blob":"UEs=""#), "{file}");
}

#[tokio::test]
async fn an_answer_of_a_gigabyte_is_given_up_at_the_limit() {
    let api = api().await;
    let entry = json!({"openapi": "pets.yaml", "url": api.url, "maxMessageBytes": "2MiB"});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", PETS)).await;
    let answer = proxy.client.call("getPet", r#"{"id":"endless"}"#).await;
    assert!(answer.text().contains("sent a response larger than 2097152 bytes"), "{}", answer.text());
    #[cfg(target_os = "linux")]
    assert!(kilobytes(proxy.client.program.id(), "VmHWM:") < 400 << 10, "it was not kept");
    let next = proxy.client.call("getPet", r#"{"id":"none"}"#).await;
    assert!(next.text().contains("HTTP 404"), "{}", next.text());
}

#[tokio::test]
async fn a_slow_answer_is_given_up_after_the_timeout() {
    let (listener, url) = listener::bind().await;
    listener::serve(listener, |_| async {
        std::future::pending::<()>().await;
        None
    });
    let entry = json!({"openapi": "pets.yaml", "url": url, "timeout": "300ms"});
    let mut proxy = started(Proxy::new(&config(entry)).file("pets.yaml", PETS)).await;
    let answer = proxy.client.call("getPet", r#"{"id":"1"}"#).await;
    assert!(answer.text().contains("did not respond within"), "{}", answer.text());
}
