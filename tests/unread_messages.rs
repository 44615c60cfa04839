//! Clients that do not read what they asked for: what waits for them is bounded, and others are served.

#![cfg(target_os = "linux")]

use std::time::Duration;

use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::TcpStream;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::modern::{meta_with_progress, with_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

/// How many messages of how many bytes nobody reads.
const MESSAGES: usize = 80;
const MESSAGE_BYTES: usize = 1_000_000;
/// What they may add to the proxy: what waits for one connection, the message in the making and on both sides of it.
const MOST_KILOBYTES: usize = 64 << 10;

fn kilobytes(program: &Program, field: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the kernel knows");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("it is a number")
}

/// Waits until the proxy takes in no more. Without a bound that is when it has taken in everything.
async fn settled(proxy: &HttpProxy) {
    let (mut last, mut steady) = (0, 0);
    while steady < 10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = kilobytes(&proxy.program, "VmRSS");
        steady = if now.abs_diff(last) < 100 { steady + 1 } else { 0 };
        last = now;
    }
}

fn flood() -> String {
    message::call("progress", &format!(r#"{{"n":{MESSAGES},"ms":1,"mark":"{}"}}"#, "x".repeat(MESSAGE_BYTES)))
}

/// Asks for the flood, and reads nothing.
async fn ask(client: &HttpClient, modern: bool) -> TcpStream {
    let request = if modern {
        HttpRequest::modern_with_meta("70", "tools/call", &flood(), &meta_with_progress("1"))
    } else {
        client.legacy(&message::request("70", "tools/call", &with_meta(&flood(), r#"{"progressToken":1}"#)))
    };
    client.send_and_leave_open(&request.header("Connection", "close")).await
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_server_waits_for_a_client_that_does_not_read_and_nothing_is_lost() {
    let http = ["--http", "127.0.0.1:0", "--only", "progress,echo"];
    let (_server, url) = Program::start_server(fake_backend(http)).await;
    // Of the older era: the proxy lists what a modern server offers now and then, and does not pause meanwhile.
    let piped = Config::new().server("fake", &fake_backend(["--era", "legacy", "--only", "progress,echo"]));
    for config in [piped, Config::new().remote("fake", &url)] {
        for modern in [true, false] {
            let proxy = Proxy::new(&config).http().await;
            let mut client = proxy.client();
            client.initialize("2025-11-25").await.result();
            client.call("echo", "{}").await.result();
            let before = kilobytes(&proxy.program, "VmHWM");
            let unread = ask(&client, modern).await;
            settled(&proxy).await;
            let mut text = Vec::new();
            BufReader::new(unread).read_to_end(&mut text).await.expect("the stream ends with the answer");
            let count = memchr::memmem::find_iter(&text, "notifications/progress").count();
            assert_eq!(count, MESSAGES, "modern: {modern}");
            assert!(memchr::memmem::find(&text, b"\"result\"").is_some());
            let grown = kilobytes(&proxy.program, "VmHWM") - before;
            assert!(grown < MOST_KILOBYTES, "modern: {modern}: grew by {grown} kB");
        }
    }
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn another_client_of_the_same_server_is_served_meanwhile() {
    let proxy = Proxy::new(&Config::new().server("fake", &fake_backend(["--only", "progress,echo"]))).http().await;
    let (mut first, mut second) = (proxy.client(), proxy.client());
    first.initialize("2025-11-25").await.result();
    second.initialize("2025-11-25").await.result();
    let before = kilobytes(&proxy.program, "VmHWM");
    let unread = [ask(&first, true).await, ask(&first, false).await];
    settled(&proxy).await;
    for number in 0..20 {
        let arguments = format!(r#"{{"number":{number}}}"#);
        assert_eq!(second.call("echo", &arguments).await.structured(), arguments);
        assert_eq!(second.modern_call("echo", &arguments).await.structured(), arguments);
    }
    let grown = kilobytes(&proxy.program, "VmHWM") - before;
    assert!(grown < 2 * MOST_KILOBYTES, "grew by {grown} kB");
    drop(unread);
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn large_answers_that_nobody_reads_are_bounded_on_many_connections_and_on_one() {
    const EACH: usize = 40;
    let proxy = Proxy::new(&Config::new().server("fake", &fake_backend(["--only", "big,echo"]))).http().await;
    let mut client = proxy.client();
    client.modern_call("echo", "{}").await.result();
    let before = kilobytes(&proxy.program, "VmHWM");
    let multiplexed = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().expect("a client");
    let (mut unread, mut requests) = (Vec::new(), tokio::task::JoinSet::new());
    for number in 0..EACH {
        let params = message::call("big", r#"{"n":3500000}"#);
        let asked = HttpRequest::modern(&number.to_string(), "tools/call", &params);
        unread.push(client.send_and_leave_open(&asked).await);
        let mut request = multiplexed.post(&proxy.url).body(asked.body.expect("a POST has one"));
        for (name, value) in asked.headers {
            request = request.header(name, value);
        }
        requests.spawn(request.send());
    }
    settled(&proxy).await;
    client.modern_call("echo", "{}").await.result();
    // 64 MiB that wait to be written, as much that waits for room, and what passes through; of 280 MB.
    let grown = kilobytes(&proxy.program, "VmHWM") - before;
    assert!(grown < 210 << 10, "grew by {grown} kB");
    drop((unread, requests));
}

#[tokio::test]
async fn the_answers_to_a_batch_are_bounded() {
    let proxy = Proxy::new(&Config::new().server("fake", &fake_backend(["--only", "big,echo"]))).http().await;
    let mut client = proxy.client();
    client.initialize("2025-03-26").await.result();
    let call =
        |number: usize| message::request(&number.to_string(), "tools/call", &message::call("big", r#"{"n":3500000}"#));
    let batch = format!("[{}]", (0..6).map(call).collect::<Vec<_>>().join(","));
    let request = client.legacy(&batch).header("Connection", "close");
    let (mut stream, mut text) = (client.send_and_leave_open(&request).await, String::new());
    stream.read_to_string(&mut text).await.expect("the proxy closes the connection");
    let (_, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let answers: Vec<serde_json::Value> = serde_json::from_str(body).expect("an array");
    let (whole, dropped): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.get("result").is_some());
    assert_eq!((whole.len(), dropped.len()), (4, 2));
    for answer in dropped {
        let message = answer["error"]["message"].as_str().expect("an error");
        assert!(message.contains("send this request on its own"), "{message}");
    }
    client.call("echo", "{}").await.result();
}
