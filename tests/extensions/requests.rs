//! `http.*`: who may be reached, what is sent, what comes back.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{one_tool, serving};

/// Answers every request with the same bytes, and then, if asked, with bytes without end. Its port.
pub(super) async fn server(answer: impl AsRef<[u8]> + Copy + Send + Sync + 'static, endless: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await.is_ok_and(|count| count > 0) {}
                let _ = stream.write_all(answer.as_ref()).await;
                while endless && stream.write_all(&[b'x'; 65536]).await.is_ok() {}
            });
        }
    });
    port
}

const JSON: &str = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nx-kind: a\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":1}";

#[tokio::test]
async fn an_answer_has_status_headers_body_and_json() {
    let port = server(JSON, false).await;
    let body = format!(
        "r = http.get(url = 'http://127.0.0.1:{port}/x', headers = {{'Accept': 'application/json'}}, params = {{'q': 1}})\nreturn r"
    );
    let mut proxy = serving(&[("one.star", &one_tool(&body, "allowed_hosts = ['127.0.0.1'],"))]).await;
    let answer = proxy.data("run", json!({})).await;
    assert_eq!(answer["url"], format!("http://127.0.0.1:{port}/x?q=1"));
    assert_eq!(
        (&answer["status_code"], &answer["status"], &answer["success"]),
        (&json!(201), &json!(201), &json!(true))
    );
    assert_eq!(
        (&answer["headers"]["x-kind"], &answer["body"], &answer["json"]),
        (&json!("a"), &json!("{\"a\":1}"), &json!({"a": 1}))
    );
}

#[tokio::test]
async fn this_machine_and_its_network_are_closed_unless_they_are_named() {
    let port = server(JSON, false).await;
    let body = "return http.get(params['url'])";
    let mut proxy = serving(&[("one.star", &one_tool(body, ""))]).await;
    for host in ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let text = proxy.fault("run", json!({"url": format!("http://{host}:{port}/")})).await;
        assert!(text.contains("is not a public address") && text.contains("(one.star:2)"), "{host}: {text}");
    }
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://[fd00:ec2::254]/",
    ] {
        let text = proxy.fault("run", json!({"url": url})).await;
        assert!(text.contains("is not a public address"), "{url}: {text}");
    }
    for url in ["file:///etc/passwd", "ftp://example.com/"] {
        let text = proxy.fault("run", json!({"url": url})).await;
        assert!(text.contains("only http and https URLs can be requested"), "{url}: {text}");
    }
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_is_closed() {
    let moved =
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let port = server(moved, false).await;
    let body = format!("return http.get('http://127.0.0.1:{port}/')");
    let mut proxy = serving(&[("one.star", &one_tool(&body, "allowed_hosts = ['127.0.0.1', '*'],"))]).await;
    let text = proxy.fault("run", json!({})).await;
    assert!(text.contains("`169.254.169.254` is not a public address"), "{text}");
}

#[tokio::test]
async fn a_body_without_end_and_silence_are_ended() {
    let endless = server("HTTP/1.1 200 OK\r\n\r\n", true).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = silent.local_addr().expect("it is bound");
    let body = "return http.get(params['url'], timeout = params['timeout'])";
    let mut proxy = serving(&[("one.star", &one_tool(body, "allowed_hosts = ['127.0.0.1'],"))]).await;
    let text = proxy.fault("run", json!({"url": format!("http://127.0.0.1:{endless}/"), "timeout": 60})).await;
    assert!(text.contains("the response is larger than 10485760 bytes"), "{text}");
    let text = proxy.fault("run", json!({"url": format!("http://{address}/"), "timeout": 0.2})).await;
    assert!(text.contains("no complete response within 0.2 s"), "{text}");
    let text = proxy.fault("run", json!({"url": "http://127.0.0.1:1/?key=s3cret", "timeout": 5})).await;
    assert!(text.contains("cannot connect to `127.0.0.1`: ") && !text.contains("s3cret"), "{text}");
}
