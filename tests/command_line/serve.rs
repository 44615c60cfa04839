use super::{empty, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::http_client::HttpClient;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn without_a_config_it_serves_something_and_says_what_to_do_next() {
    let proxy = empty();
    let mut client = StdioClient::start(proxy.command(["serve"]));
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.call("greet", r#"{"name":"Ann"}"#).await.text(), "Hello, Ann!");
    client.stderr().line("no config file found: serving the built-in extensions.").await;
    client.stderr().line("`proxy init --from FILE` imports your client's config.").await;
    assert_eq!(client.finish().await.code(), Some(0));
}

#[tokio::test]
async fn it_says_on_stderr_what_it_serves_and_nothing_on_stdout() {
    let proxy = world();
    let mut client = StdioClient::start(proxy.serve_command());
    client.stderr().line("2 servers").await;
    assert_eq!(client.finish().await.code(), Some(0));
    assert_eq!(client.unclaimed().count(), 0);
}

#[tokio::test]
async fn a_required_server_that_is_not_there_ends_it() {
    let config = Config::new().server("one", &fake_backend(["--only", "echo"])).server_with(
        "gone",
        &std::process::Command::new("no-such-program"),
        serde_json::json!({"required": true}),
    );
    let proxy = Proxy::new(&config);
    let finished = Finished::run(proxy.serve_command()).await.expect(1);
    let expected = "error: required server `gone` did not start: the command `no-such-program` was not found";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[tokio::test]
async fn a_config_that_starts_itself_does_so_once_and_says_why_no_more() {
    let mut itself = std::process::Command::new("proxy");
    itself.args(["serve", "--config", "proxy.yaml"]);
    let config = Config::new().server("one", &fake_backend(["--only", "echo"])).server("itself", &itself);
    let proxy = Proxy::new(&config).argument("--log").argument("debug");
    let mut client = StdioClient::start(proxy.serve_command());
    client.stderr().line("starts itself: one of its servers is a proxy with this config").await;
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.call("echo", r#"{"n":1}"#).await.text(), r#"{"n":1}"#, "the other server is not concerned");
    client.finish().await;
}

#[tokio::test]
async fn an_address_that_others_reach_needs_authentication() {
    let proxy = empty();
    let finished = proxy.run(["serve", "--http", "0.0.0.0:0"]).await.expect(2);
    assert_eq!(
        finished.stderr,
        "\
error: `0.0.0.0:0` is reachable from other machines without authentication
 |
 = hint: set `auth.tokens` or `auth.issuers` in the config, listen on 127.0.0.1, or pass --insecure if a reverse proxy authenticates clients
"
    );
    let finished = proxy.run(["serve", "--http", "nowhere"]).await.expect(2);
    assert!(finished.stderr.starts_with("error: cannot listen on `nowhere`: "), "{}", finished.stderr);
}

#[tokio::test]
async fn an_address_in_use_says_how_to_find_out_by_whom() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = other.local_addr().expect("it is bound").to_string();
    let finished = empty().run(["serve", "--http", &address]).await.expect(2);
    assert!(finished.stderr.starts_with(&format!("error: cannot listen on `{address}`: ")), "{}", finished.stderr);
    let hint = " = hint: another program is listening there; `proxy status` shows whether it is a proxy, and `--http` sets another port\n";
    assert!(finished.stderr.ends_with(hint), "{}", finished.stderr);
}

#[tokio::test]
async fn a_port_alone_is_one_of_this_machine_only() {
    let proxy = empty();
    for address in ["0", ":0"] {
        let (program, url) = Program::start_server(proxy.command(["serve", "--http", address])).await;
        assert!(url.starts_with("http://127.0.0.1:"), "{address}: {url}");
        let mut client = HttpClient::new(&url, program.stderr.clone());
        client.initialize("2025-11-25").await.result();
    }
}

#[tokio::test]
async fn of_a_server_and_an_extension_with_one_name_the_server_stays() {
    let config =
        Config::new().server("ping", &fake_backend(["--only", "echo"])).section("extensions: { paths: [ping.star] }");
    let proxy = Proxy::new(&config)
        .file("ping.star", "def describe_extension():\n    return Extension(name = 'ping', version = '1')\n");
    let checked = proxy.run(["check"]).await.expect(1);
    assert!(
        checked.stderr.starts_with("error: the extension `ping` has the name of a server: `"),
        "{}",
        checked.stderr
    );
    assert!(checked.stderr.contains("ping.star`\n |\n = note: the server stays\n"), "{}", checked.stderr);
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await, ["echo"]);
    proxy.client.stderr().line("has the name of a server").await;
}

#[tokio::test]
async fn a_client_that_leaves_at_once_does_not_hide_that_the_script_fails() {
    let broken = || {
        Proxy::with_config_text("sessionInit: { scriptFile: policy.star }\n").file("policy.star", "x = 1\nfail('no')\n")
    };
    let slow = Config::new()
        .server("late", &fake_backend(["--start-delay", "500"]))
        .section("sessionInit: { scriptFile: policy.star }");
    for proxy in [broken(), Proxy::new(&slow).file("policy.star", "x = 1\nfail('no')\n")] {
        let mut client = StdioClient::start(proxy.serve_command());
        assert_eq!(client.finish().await.code(), Some(1));
        let told = client.stderr().whole().await;
        assert!(told.contains("error: no\n --> policy.star:2:1"), "{told}");
    }
}

#[tokio::test]
async fn whoever_says_insecure_serves_others_without_tokens() {
    let proxy = Proxy::new(&Config::new().server("one", &fake_backend(["--only", "echo"])));
    let command = proxy.command(["serve", "--http", "0.0.0.0:0", "--insecure", "--config", "proxy.yaml"]);
    let (program, url) = Program::start_server(command).await;
    // Another address of this machine than the one that is taken for its own.
    let url = url.replace("0.0.0.0", "127.0.0.2");
    let mut client = HttpClient::new(&url, program.stderr.clone());
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.call("echo", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
    assert_eq!(client.modern_call("echo", r#"{"a":2}"#).await.structured(), r#"{"a":2}"#);
}

#[tokio::test]
async fn the_log_tells_the_time_of_day() {
    let proxy = Proxy::new(&Config::new().server("gone", &std::process::Command::new("no-such-program")));
    let client = StdioClient::start(proxy.serve_command());
    let line = client.stderr().line("WARN").await;
    let time = line.split_whitespace().next().expect("a first word");
    let shape: String = time.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{line}");
    let years = std::time::UNIX_EPOCH.elapsed().expect("it is later").as_secs() / 31_556_952;
    assert!(time.starts_with(&(1970 + years).to_string()), "{line}");
}
