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
    client.stderr().line("no config file found: serving the bundled extensions.").await;
    client.stderr().line("`proxy init --from FILE` imports the one of your client.").await;
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
    let expected =
        "error: the server `gone` is required and cannot be used: the command `no-such-program` was not found";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[tokio::test]
async fn an_address_that_others_reach_needs_authentication() {
    let proxy = empty();
    let finished = proxy.run(["serve", "--http", "0.0.0.0:0"]).await.expect(2);
    assert_eq!(
        finished.stderr,
        "\
error: `0.0.0.0:0` can be reached by others, and nobody has to authenticate
 |
 = hint: give `auth.tokens` in the config, listen on 127.0.0.1, or say --insecure if something in front protects it
"
    );
    let finished = proxy.run(["serve", "--http", "nowhere"]).await.expect(2);
    assert!(finished.stderr.starts_with("error: cannot listen on `nowhere`: "), "{}", finished.stderr);
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
async fn an_extension_with_the_name_of_a_server_is_a_config_error() {
    let proxy =
        Proxy::new(&Config::new().server("ping", &fake_backend([])).section("extensions: { paths: [ping.star] }"))
            .file("ping.star", "def describe_extension():\n    return Extension(name = 'ping', version = '1')\n");
    for command in ["serve", "check"] {
        let finished = proxy.run([command]).await.expect(2);
        assert_eq!(finished.stderr, "error: the extension `ping` has the name of a server\n", "{command}");
    }
}
