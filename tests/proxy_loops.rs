//! A proxy that is one of its own servers says so instead of calling itself for ever.

use serde_json::json;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers::free_port;

#[tokio::test]
async fn a_proxy_that_is_its_own_server_refuses_that_server_and_serves_the_others() {
    let address = format!("127.0.0.1:{}", free_port());
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"])).remote_with(
        "itself",
        &format!("http://{address}/mcp"),
        json!({"startTimeout": "5s"}),
    );
    let world = Proxy::new(&config);
    let command = world.command(["serve", "--http", &address, "--config", "proxy.yaml"]);
    let (program, url) = Program::start_server(command).await;
    let mut client = HttpClient::new(&url, program.stderr.clone());
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["echo"]);
    program.stderr.line("itself: cannot connect: this proxy is one of its own servers").await;
}

#[tokio::test]
async fn a_request_that_has_passed_too_many_proxies_goes_no_further() {
    let proxy = Proxy::new(&Config::new().server("fake", &fake_backend(["--only", "echo"]))).http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    for (hops, status) in [(8, 200), (9, 508)] {
        let via = vec!["0123456789abcdef"; hops].join(", ");
        let ping = client.legacy(&message::request("7", "ping", "{}")).header("Proxy-Via", &via);
        let reply = client.send(&ping).await;
        assert_eq!(reply.status, status);
    }
    let modern = HttpRequest::modern("8", "tools/list", "{}").header("Proxy-Via", &["a"; 9].join(","));
    let refused = client.send(&modern).await;
    assert_eq!(refused.status, 508);
    assert!(refused.response().await.error_message().contains("more than 8 proxies"));
}

#[tokio::test]
async fn each_proxy_adds_itself_to_the_way_of_a_call() {
    let (server, server_url) =
        Program::start_server(fake_backend(["--only", "headers", "--http", "127.0.0.1:0"])).await;
    let inner = Proxy::new(&Config::new().remote("fake", &server_url)).http().await;
    let outer = Proxy::new(&Config::new().remote("inner", &inner.url)).http().await;
    let mut client = outer.client();
    client.initialize("2025-11-25").await.result();
    let seen = client.call("headers", "{}").await.value();
    let headers = seen["result"]["structuredContent"]["headers"].as_array().expect("the headers").clone();
    let via = headers.iter().find(|header| header[0] == "proxy-via").expect("the way")[1].as_str().expect("a text");
    let hops: Vec<&str> = via.split(", ").collect();
    assert!(hops.len() == 2 && hops[0] != hops[1] && hops.iter().all(|hop| hop.len() == 16), "{via}");
    drop(server);
}
