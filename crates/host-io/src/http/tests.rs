//! Against a small server on this machine: what is refused, what is followed, what is sent where.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Answers each request with what `answer` makes of its head and body; keeps all it has seen.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, kept) = (Arc::new(answer), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, kept) = (Arc::clone(&answer), Arc::clone(&kept));
                tokio::spawn(async move {
                    let text = request(&mut stream).await;
                    kept.lock().push(text.clone());
                    let reply = answer(&text);
                    let _ = stream.write_all(reply.as_bytes()).await;
                    while reply.contains("endless") && stream.write_all(&[b'x'; 65536]).await.is_ok() {}
                });
            }
        });
        Server { port, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

async fn request(stream: &mut tokio::net::TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if count == 0 || body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn get(url: impl Into<String>) -> OutboundRequest {
    OutboundRequest { method: "GET".into(), url: url.into(), timeout: 5.0, ..OutboundRequest::default() }
}

fn named(list: &[&str]) -> Hosts {
    Hosts::parse(Some(&list.iter().map(ToString::to_string).collect::<Vec<_>>())).unwrap()
}

async fn fault(hosts: &Hosts, url: &str) -> String {
    perform(&HttpClients::default(), hosts, &get(url)).await.unwrap_err()
}

#[tokio::test]
async fn this_machine_is_out_of_reach_however_it_is_written() {
    let server = Server::start(|_| ok("secret")).await;
    let port = server.port;
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "2130706433",
        "017700000001",
        "127.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "LOCALHOST",
    ] {
        let text = fault(&Hosts::default(), &format!("http://{host}:{port}/")).await;
        assert!(text.contains("is not a public address"), "{host}: {text}");
    }
    for url in ["http://169.254.169.254/latest", "http://10.0.0.1/", "http://[fd00::1]/", "http://100.100.100.200/"] {
        assert!(fault(&Hosts::default(), url).await.contains("is not a public address"), "{url}");
    }
    for url in ["file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/", "no url"] {
        fault(&Hosts::default(), url).await;
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_named_host_is_reached_and_no_other() {
    let server = Server::start(|_| ok("{\"a\": 1}")).await;
    let hosts = named(&["127.0.0.1"]);
    let answer = perform(&HttpClients::default(), &hosts, &get(server.url("/x?a=1"))).await.unwrap();
    assert_eq!(
        (&answer["status_code"], &answer["json"], &answer["success"]),
        (&json!(200), &json!({"a": 1}), &json!(true))
    );
    assert_eq!(answer["headers"]["content-length"], "8");
    let text = fault(&hosts, "http://example.com/").await;
    assert!(
        text.contains("`example.com` (port 80) is not in `allowed_hosts` of the extension: [\"127.0.0.1\"]"),
        "{text}"
    );
}

#[tokio::test]
async fn a_redirect_is_checked_as_a_request_is() {
    let inner = Server::start(|_| ok("secret")).await;
    let target = format!("http://localhost:{}/", inner.port);
    let outer = Server::start(move |_| redirect(302, &target)).await;
    let text = fault(&named(&["*", &format!("127.0.0.1:{}", outer.port)]), &outer.url("/")).await;
    assert!(text.contains("`localhost` is not a public address"), "{text}");
    let text = fault(&named(&[&format!("127.0.0.1:{}", outer.port)]), &outer.url("/")).await;
    assert!(text.contains("is not in `allowed_hosts`"), "{text}");
    let loops = Server::start(|_| redirect(302, "/again")).await;
    assert_eq!(fault(&named(&["127.0.0.1"]), &loops.url("/")).await, "more than 10 redirects");
    assert!(inner.seen().is_empty());
}

#[tokio::test]
async fn credentials_stay_with_the_host_they_are_for() {
    let other = Server::start(|_| ok("fine")).await;
    let target = other.url("/there");
    let first = Server::start(move |text| match text.starts_with("GET /same") {
        true => ok("fine"),
        false if text.starts_with("GET /within") => redirect(307, "/same"),
        false => redirect(302, &target),
    })
    .await;
    let request = OutboundRequest {
        headers: vec![("X-Api-Key".into(), "k3y".into()), ("Accept".into(), "text/plain".into())],
        auth: Some(("ann".into(), "pw".into())),
        ..get(first.url("/"))
    };
    let answer = perform(&HttpClients::default(), &named(&["127.0.0.1"]), &request).await.unwrap();
    assert_eq!(answer["url"], other.url("/there"));
    let seen = other.seen()[0].to_lowercase();
    assert!(!seen.contains("k3y") && !seen.contains("authorization") && seen.contains("accept: text/plain"), "{seen}");
    let within = OutboundRequest { url: first.url("/within"), ..request };
    perform(&HttpClients::default(), &named(&["127.0.0.1"]), &within).await.unwrap();
    let seen = first.seen().last().unwrap().to_lowercase();
    assert!(seen.contains("x-api-key: k3y") && seen.contains("authorization: basic yw5uonb3"), "{seen}");
}

#[tokio::test]
async fn a_body_is_not_carried_to_another_host() {
    let other = Server::start(|_| ok("fine")).await;
    let target = other.url("/");
    let first = Server::start(move |_| redirect(307, &target)).await;
    let post =
        OutboundRequest { method: "POST".into(), body: RequestBody::Text("secret".into()), ..get(first.url("/")) };
    let answer = perform(&HttpClients::default(), &named(&["127.0.0.1"]), &post).await.unwrap();
    assert_eq!(answer["status_code"], 307);
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn bodies_params_and_forms_are_sent() {
    let server = Server::start(|_| ok("no json")).await;
    let hosts = named(&["127.0.0.1"]);
    let clients = HttpClients::default();
    for body in [
        RequestBody::Json(json!({"a": [1]})),
        RequestBody::Form(vec![("a b".into(), "c&d".into())]),
        RequestBody::Text("t".into()),
    ] {
        let params = vec![("q".into(), "x y&z".into())];
        let request = OutboundRequest { method: "PUT".into(), params, body, ..get(server.url("/p?a=1")) };
        let answer = perform(&clients, &hosts, &request).await.unwrap();
        assert!(answer.get("json").is_none() && answer["body"] == "no json");
    }
    let seen = server.seen();
    assert!(seen[0].starts_with("PUT /p?a=1&q=x+y%26z HTTP/1.1"), "{}", seen[0]);
    assert!(seen[0].contains("content-type: application/json") && seen[0].ends_with("{\"a\":[1]}"), "{}", seen[0]);
    assert!(seen[1].contains("x-www-form-urlencoded") && seen[1].ends_with("a+b=c%26d"), "{}", seen[1]);
    let with_user = get(format!("http://ann:p%40w@127.0.0.1:{}/", server.port));
    let answer = perform(&clients, &hosts, &with_user).await.unwrap();
    assert_eq!(answer["url"], server.url("/"));
    assert!(server.seen().last().unwrap().contains("Basic YW5uOnBAdw=="));
}

#[tokio::test]
async fn a_body_without_end_and_a_silent_server_are_ended() {
    let endless = Server::start(|_| "HTTP/1.1 200 OK\r\nx: endless\r\n\r\n".to_owned()).await;
    let hosts = named(&["127.0.0.1"]);
    assert_eq!(fault(&hosts, &endless.url("/")).await, format!("the response is larger than {MAX_BODY} bytes"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let request = OutboundRequest { timeout: 0.05, ..get(format!("http://{}/", listener.local_addr().unwrap())) };
    let text = perform(&HttpClients::default(), &hosts, &request).await.unwrap_err();
    assert_eq!(text, "no complete response within 0.05 s (timeout)");
    drop(listener);
    let text = tokio::time::timeout(Duration::from_secs(5), fault(&hosts, &request.url)).await.unwrap();
    assert!(text.starts_with("cannot connect") && !text.contains("http://"), "{text}");
}
