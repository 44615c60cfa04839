//! Resources that nobody lists: known to a client from a link it was given, or from the tool they show.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::in_process::Proxy;
use crate::support::message::{self, member};
use crate::support::programs::fake_backend;
use crate::support::proxy;
use crate::support::temp_dir::TempDir;

const ERAS: [&str; 2] = ["legacy", "modern"];

/// The server with the links is the second one.
fn two(era: &str) -> Config {
    Config::new()
        .server("first", &fake_backend(["--era", era, "--only", "other"]))
        .server("second", &fake_backend(["--era", era, "--resources", "--only", "raw"]))
}

/// Arguments of the tool `raw` that make it answer with a link.
fn linking(uri: &str) -> String {
    let block = json!({"type": "resource_link", "uri": uri, "name": "hidden"});
    json!({"result": {"content": [block]}}).to_string()
}

fn reading(uri: &str) -> String {
    json!({ "uri": uri }).to_string()
}

fn text_of(read: &Value) -> &Value {
    &read["result"]["contents"][0]["text"]
}

#[tokio::test]
async fn a_link_can_be_read_by_the_client_it_was_given_to() {
    for era in ERAS {
        let mut proxy = Proxy::new(&two(era)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| names.len() == 2).await;
        let uri = "memo://hidden/1";
        let early = proxy.client.request("resources/read", &reading(uri)).await.value();
        assert_eq!((&early["error"]["code"], &early["error"]["data"]["uri"]), (&json!(-32002), &json!(uri)));
        proxy.client.call("raw", &linking(uri)).await.result();
        let read = proxy.client.request("resources/read", &reading(uri)).await.value();
        assert_eq!(text_of(&read), "the text of memo://hidden/1");
        // The same client speaks both eras on its pipe.
        let read = proxy.client.modern("resources/read", &reading(uri)).await.value();
        assert_eq!(text_of(&read), "the text of memo://hidden/1");
    }
}

#[tokio::test]
async fn what_its_server_says_of_a_missing_one_is_told_as_each_era_tells_it() {
    for era in ERAS {
        let mut proxy = Proxy::new(&two(era)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| names.len() == 2).await;
        let uri = "other://gone";
        proxy.client.call("raw", &linking(uri)).await.result();
        let missing = proxy.client.request("resources/read", &reading(uri)).await.value();
        assert_eq!((&missing["error"]["code"], &missing["error"]["data"]["uri"]), (&json!(-32002), &json!(uri)));
        let missing = proxy.client.modern("resources/read", &reading(uri)).await.value();
        assert_eq!((&missing["error"]["code"], &missing["error"]["data"]["uri"]), (&json!(-32602), &json!(uri)));
    }
}

async fn session(client: HttpClient) -> HttpClient {
    let mut client = client;
    client.initialize("2025-11-25").await.result();
    client
}

#[tokio::test]
async fn a_link_is_nothing_to_other_sessions_and_principals() {
    let auth = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";
    let proxy = Proxy::new(&two("modern").section(auth)).http().await;
    let person = |token: &str| proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    let (mut one, mut other) = (session(person("secret-token-of-a")).await, session(person("secret-token-of-a")).await);
    while one.request("tools/list", "{}").await.tool_names().len() < 2 {
        tokio::task::yield_now().await;
    }
    let (uri, stateless) = ("memo://hidden/2", "memo://hidden/3");
    one.call("raw", &linking(uri)).await.result();
    let read = one.request("resources/read", &reading(uri)).await.value();
    assert_eq!(text_of(&read), "the text of memo://hidden/2");
    assert_eq!(other.request("resources/read", &reading(uri)).await.error_code(), -32002);

    let (mut ann, mut bob) = (person("secret-token-of-a"), person("secret-token-of-b"));
    assert_eq!(ann.modern("resources/read", &reading(uri)).await.error_code(), -32602);
    ann.modern_call("raw", &linking(stateless)).await.result();
    let read = ann.modern("resources/read", &reading(stateless)).await.value();
    assert_eq!(text_of(&read), "the text of memo://hidden/3");
    assert_eq!(bob.modern("resources/read", &reading(stateless)).await.error_code(), -32602);
}

#[tokio::test]
async fn anonymous_requests_share_no_links() {
    let proxy = Proxy::new(&two("modern")).http().await;
    let mut client = proxy.client();
    while client.modern("tools/list", "{}").await.tool_names().len() < 2 {
        tokio::task::yield_now().await;
    }
    client.modern_call("raw", &linking("memo://hidden/4")).await.result();
    assert_eq!(client.modern("resources/read", &reading("memo://hidden/4")).await.error_code(), -32602);
}

const APP: &str = r#"{"name":"board","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://board/main","visibility":["model"]}}}"#;
const OLD_APP: &str = r#"{"name":"chart","inputSchema":{"type":"object"},"_meta":{"ui/resourceUri":"ui://chart"}}"#;

fn with_tools(directory: &TempDir, name: &str, tools: &[&str]) -> String {
    let path = directory.write(name, &format!("[{}]", tools.join(",")));
    path.to_str().expect("a temporary path is text").to_owned()
}

#[tokio::test]
async fn the_interface_of_a_renamed_tool_can_be_read() {
    let directory = TempDir::new();
    let tools = with_tools(&directory, "tools.json", &[APP, OLD_APP]);
    for era in ERAS {
        let config = Config::new()
            .server("first", &fake_backend(["--era", era, "--only", "other"]))
            .server("apps", &fake_backend(["--era", era, "--resources", "--tools", &tools]))
            .section("aggregation: {conflictResolution: prefix}");
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| names.len() == 3).await;
        let listed = proxy.client.request("tools/list", "{}").await.result();
        let renamed =
            [APP.replace(r#""board","#, r#""apps_board","#), OLD_APP.replace(r#""chart","#, r#""apps_chart","#)];
        let listed = member(&listed, "tools").expect("a list has tools");
        assert!(listed.ends_with(&format!("{}]", renamed.join(","))), "{listed}");
        // The interface itself knows the tool by its own name only.
        for name in ["apps_board", "board"] {
            assert_eq!(proxy.client.call(name, r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
            assert_eq!(proxy.client.modern_call(name, "{}").await.structured(), "{}");
        }
        assert_eq!(proxy.client.call("other", "{}").await.error_code(), -32602, "its server has no interfaces");
        for uri in ["ui://board/main", "ui://chart"] {
            for read in [
                proxy.client.request("resources/read", &reading(uri)).await,
                proxy.client.modern("resources/read", &reading(uri)).await,
            ] {
                assert_eq!(text_of(&read.value()), &json!(format!("the text of {uri}")));
            }
        }
    }
}

#[tokio::test]
async fn two_servers_with_one_interface_are_warned_of() {
    let directory = TempDir::new();
    let (one, two) = (with_tools(&directory, "one.json", &[APP]), with_tools(&directory, "two.json", &[APP]));
    let config =
        Config::new().server("one", &fake_backend(["--tools", &one])).server("two", &fake_backend(["--tools", &two]));
    let checked = proxy::Proxy::new(&config).run(["check", "--live"]).await.expect(0);
    let told = "the tool `two_board` of server `two` has the user interface `ui://board/main`, but that URI belongs to server `one`";
    assert!(checked.stderr.contains(told), "{}", checked.stderr);
    let told =
        "the user interfaces of server `two` call the tool `two_board` as `board`, but that name is another tool";
    assert!(checked.stderr.contains(told), "{}", checked.stderr);
}

#[tokio::test]
async fn links_in_a_script_s_own_wrapping_count_too() {
    let script = r#"sessionInit:
  script: |
    def wrapped(call):
        return lambda args: call(args)

    for name, backend in backends().items():
        for meta, call in backend.tools():
            publish(meta, wrapped(call))
"#;
    let mut proxy = Proxy::new(&two("legacy").section(script)).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.len() == 2).await;
    proxy.client.request("tools/call", &message::call("raw", &linking("memo://w"))).await.result();
    let read = proxy.client.request("resources/read", &reading("memo://w")).await.value();
    assert_eq!(text_of(&read), "the text of memo://w");
}

#[tokio::test]
async fn a_link_is_no_way_around_what_a_script_does_not_publish() {
    let script = r#"sessionInit:
  script: |
    for name, backend in backends().items():
        for meta, call in backend.tools():
            publish(meta, call)
"#;
    let mut proxy = Proxy::new(&two("modern").section(script)).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.len() == 2).await;
    for (uri, readable) in [("memo://greeting", false), ("memo://notes/today", false), ("memo://made/up", true)] {
        proxy.client.call("raw", &linking(uri)).await.result();
        let read = proxy.client.request("resources/read", &reading(uri)).await.value();
        assert_eq!(read.get("result").is_some(), readable, "{read}");
    }
}
