//! In front of a single server, with everything passed through, the proxy is what that server is.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

const ERAS: [&str; 2] = ["legacy", "modern"];
const PASSTHROUGH: &str = "sessionInit: {preset: passthrough}";
const OWN: &str = r#""experimental":{"vendor/x":{"n":1}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]},"vendor/e":{}}"#;

fn server(era: &str) -> [String; 7] {
    ["--era", era, "--prompts", "--capabilities", OWN, "--instructions", "Be kind."].map(str::to_owned)
}

fn single(era: &str) -> Config {
    Config::new().server("fake", &fake_backend(server(era).iter().map(String::as_str)))
}

/// What a client of each era is told in its handshake.
async fn told(config: &Config) -> [Value; 2] {
    let mut proxy = Proxy::new(config).stdio();
    let session = proxy.client.initialize("2025-11-25").await.value()["result"].clone();
    let stateless = proxy.client.modern("server/discover", "{}").await.value()["result"].clone();
    [session, stateless]
}

/// Without what the proxy carries by itself or not at all.
fn declared(told: &Value) -> Value {
    let mut capabilities = told["capabilities"].clone();
    capabilities.as_object_mut().expect("capabilities are an object").remove("logging");
    capabilities
}

#[tokio::test]
async fn its_capabilities_and_instructions_are_the_proxy_s_own() {
    for era in ERAS {
        for told in told(&single(era).section(PASSTHROUGH)).await {
            assert_eq!(
                declared(&told),
                json!({
                    "tools": {"listChanged": true},
                    "prompts": {"listChanged": true},
                    "experimental": {"vendor/x": {"n": 1}},
                    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}, "vendor/e": {}},
                }),
                "{era}"
            );
            assert_eq!(told["instructions"], "Be kind.");
            let info = told.get("serverInfo").unwrap_or(&told["_meta"]["io.modelcontextprotocol/serverInfo"]);
            assert_eq!(info["name"], "fake-backend", "{told}");
        }
    }
}

#[tokio::test]
async fn a_server_that_takes_a_moment_to_start_is_described_all_the_same() {
    let flags = server("legacy");
    let slow = flags.iter().map(String::as_str).chain(["--start-delay", "700"]);
    for told in told(&Config::new().server("fake", &fake_backend(slow)).section(PASSTHROUGH)).await {
        assert_eq!(told["instructions"], "Be kind.");
        assert_eq!(told["capabilities"].get("resources"), None, "{told}");
    }
}

#[tokio::test]
async fn methods_it_does_not_offer_are_not_found() {
    for era in ERAS {
        let proxy = Proxy::new(&single(era).section(PASSTHROUGH)).http().await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        for (method, params) in [
            ("resources/list", "{}"),
            ("resources/templates/list", "{}"),
            ("resources/read", r#"{"uri":"memo://greeting"}"#),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":""}}"#,
            ),
        ] {
            assert_eq!(client.request(method, params).await.error_code(), -32601, "{method}");
            let reply = client.send(&HttpRequest::modern("1", method, params)).await;
            assert_eq!(reply.status, 404, "{method}");
            assert_eq!(reply.response().await.error_code(), -32601);
        }
        // One of the older era writes logs that a client can have.
        let leveled = client.request("logging/setLevel", r#"{"level":"info"}"#).await.value();
        assert_eq!(leveled.get("result").is_some(), era == "legacy", "{leveled}");
        assert_eq!(client.request("prompts/list", "{}").await.value()["result"]["prompts"][0]["name"], "greet");
    }
}

#[tokio::test]
async fn a_uri_it_does_not_list_is_its_own_to_judge() {
    for era in ERAS {
        let config = Config::new().server("fake", &fake_backend(["--era", era, "--resources"])).section(PASSTHROUGH);
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        let params = r#"{"uri":"memo://unlisted"}"#;
        for read in
            [proxy.client.request("resources/read", params).await, proxy.client.modern("resources/read", params).await]
        {
            assert_eq!(read.value()["result"]["contents"][0]["text"], "the text of memo://unlisted");
        }
        let params = r#"{"uri":"other://thing"}"#;
        let refused = |code| json!({"code": code, "message": "no such resource", "data": {"uri": "other://thing"}});
        let error = proxy.client.request("resources/read", params).await.value()["error"].clone();
        assert_eq!(error, refused(-32002), "{era}");
        let error = proxy.client.modern("resources/read", params).await.value()["error"].clone();
        assert_eq!(error, refused(-32602), "{era}");
    }
}

#[tokio::test]
async fn what_it_told_clients_of_the_other_era_is_not_told_to_others() {
    // In sessions this server declares log messages, without them it does not.
    let config = Config::new().server("fake", &fake_backend([])).section(PASSTHROUGH);
    let mut world = Proxy::new(&config);
    for _ in 0..2 {
        let mut proxy = world.stdio();
        let told = proxy.client.initialize("2025-11-25").await.value();
        assert!(told["result"]["capabilities"].get("logging").is_some(), "{told}");
        proxy.client.finish().await;
        let mut proxy = proxy.world.stdio();
        let told = proxy.client.modern("server/discover", "{}").await.value();
        assert_eq!(told["result"]["capabilities"].get("logging"), None, "{told}");
        proxy.client.finish().await;
        world = proxy.world;
    }
}

#[tokio::test]
async fn its_tools_keep_what_they_say_about_tasks() {
    let directory = TempDir::new();
    let tool = r#"{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}"#;
    let tools = directory.write("tools.json", &format!("[{tool}]"));
    let server = fake_backend(["--era", "legacy", "--tools", tools.to_str().expect("a path")]);
    let alone = Config::new().server("fake", &server).section(PASSTHROUGH);
    let among = alone.clone().server("other", &fake_backend(["--only", "other"]));
    for (config, has_execution) in [(alone, true), (among, false)] {
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        let list = proxy.client.request("tools/list", "{}").await.value();
        assert_eq!(list["result"]["tools"][0].get("execution").is_some(), has_execution, "{list}");
    }
}

#[tokio::test]
async fn a_tool_that_forbids_tasks_says_so_wherever_it_is_published() {
    let directory = TempDir::new();
    let tool = r#"{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}"#;
    let tools = directory.write("tools.json", &format!("[{tool}]"));
    let server = fake_backend(["--era", "legacy", "--tools", tools.to_str().expect("a path")]);
    let among = Config::new().server("fake", &server).server("other", &fake_backend(["--only", "other"]));
    let wrapped = r#"sessionInit:
  script: |
    for meta, call in backends()["fake"].tools():
        publish(meta, lambda params, call = call: call(params))
"#;
    for config in [among.clone().section(PASSTHROUGH), among.section(wrapped)] {
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        let list = proxy.client.request("tools/list", "{}").await.value();
        assert_eq!(list["result"]["tools"][0]["execution"], json!({"taskSupport": "forbidden"}), "{list}");
    }
}

/// Whether what is told promises all that servers may come to have.
fn promises_all(told: &Value) -> bool {
    ["tools", "resources", "prompts", "completions"].iter().all(|name| told["capabilities"].get(name).is_some())
}

#[tokio::test]
async fn among_others_or_behind_a_script_of_one_s_own_it_is_not_mirrored() {
    let filtered = "sessionInit:\n  script: |\n    for meta, call in backends()[\"fake\"].tools():\n        \
                    if meta.name != \"echo\":\n            publish(meta, call)\n    passthrough()\n";
    let two = single("legacy").server("other", &fake_backend(["--only", "other"])).section(PASSTHROUGH);
    for config in [single("legacy"), single("legacy").section(filtered), two] {
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        // Once the server is known: a handshake does not wait for one among many.
        proxy.client.tools_until(|names| names.iter().any(|name| name == "raw")).await;
        let told = proxy.client.modern("server/discover", "{}").await.value()["result"].clone();
        assert!(promises_all(&told), "{told}");
        assert_eq!(told["capabilities"].get("experimental"), None, "{told}");
        assert_eq!(
            told["capabilities"]["extensions"],
            json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}})
        );
        assert_eq!(told["instructions"], "# fake\n\nBe kind.");
        assert_eq!(proxy.client.request("resources/list", "{}").await.value()["result"]["resources"], json!([]));
    }
}
