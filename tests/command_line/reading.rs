//! Resources and prompts on the command line, and arguments from elsewhere.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

fn world() -> Proxy {
    let server = fake_backend(["--only", "echo", "--resources", "--prompts"]);
    Proxy::new(&Config::new().server("fake", &server))
}

#[tokio::test]
async fn resources_and_templates_are_listed_and_read() {
    let proxy = world();
    let listed = proxy.run(["list-resources"]).await.expect(0).stdout;
    assert!(listed.starts_with("URI") && listed.contains("memo://notes/{name}"), "{listed}");
    let listed = proxy.run(["list-resources", "--json"]).await.expect(0).json();
    let templates = listed.as_array().expect("a list").iter().filter(|item| item.get("resourceTemplate").is_some());
    assert!(templates.count() > 0, "{listed}");

    let read = proxy.run(["read", "memo://notes/x"]).await.expect(0).stdout;
    assert!(read.contains('x'), "{read}");
    let read = proxy.run(["read", "memo://notes/x", "--json"]).await.expect(0).json();
    assert_eq!(read["contents"][0]["uri"], "memo://notes/x");
    let unknown = proxy.run(["read", "nowhere://x"]).await.expect(1).stderr;
    assert!(unknown.contains("unknown resource `nowhere://x`") && unknown.contains("list-resources"), "{unknown}");
}

#[tokio::test]
async fn prompts_are_listed_and_got() {
    let proxy = world();
    let listed = proxy.run(["list-prompts", "--json"]).await.expect(0).json();
    let name = listed[0]["prompt"]["name"].as_str().expect("a prompt").to_owned();
    let got = proxy.run(["prompt", &name, "who=007"]).await.expect(0).stdout;
    assert!(got.starts_with("user:\n"), "{got}");
    let got = proxy.run(["prompt", &name, "--args", r#"{"who": "x"}"#, "--json"]).await.expect(0).json();
    assert!(got["messages"].is_array(), "{got}");
    let unknown = proxy.run(["prompt", "nothing-like-it"]).await.expect(1).stderr;
    assert!(unknown.contains("unknown prompt") && unknown.contains("list-prompts"), "{unknown}");
}

#[tokio::test]
async fn arguments_come_from_a_file_or_from_standard_input() {
    let proxy = world().file("arguments.json", r#"{"a": 1}"#);
    let called = proxy.run(["call", "echo", "--args", "@arguments.json", "b=2"]).await.expect(0);
    assert_eq!(called.json(), json!({"a": 1, "b": 2}));
    let mut command = proxy.command(["call", "echo", "--args", "-"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut piped = piped.expect("the proxy starts");
    piped.stdin.take().expect("a pipe").write_all(br#"{"c": 3}"#).expect("it reads");
    let output = piped.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"c\":3}\n");
    let missing = proxy.run(["call", "echo", "--args", "@missing.json"]).await.expect(2).stderr;
    assert!(missing.contains("--args: cannot read `missing.json`"), "{missing}");
}
