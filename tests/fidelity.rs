//! What the proxy does not have to change it does not change, whichever eras meet and whichever way the bytes travel.

use crate::support::config::Config;
use crate::support::corpus::{Odd, Use, odd_messages};
use crate::support::http_client::HttpClient;
use crate::support::in_process::{HttpProxy, Proxy, StdioProxy};
use crate::support::message::{Message, member};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::temp_dir::TempDir;

const ERAS: [&str; 2] = ["legacy", "modern"];
const PASSTHROUGH: &str = "sessionInit: {preset: passthrough}";

/// A client of the proxy, on a pipe or on HTTP.
enum Client {
    Stdio(Box<StdioProxy>),
    Http { client: Box<HttpClient>, _proxy: Box<HttpProxy> },
}

impl Client {
    async fn start(config: &Config, http: bool) -> Self {
        if http {
            let proxy = Proxy::new(config).http().await;
            let client = proxy.client();
            return Client::Http { client: Box::new(client), _proxy: Box::new(proxy) };
        }
        Client::Stdio(Box::new(Proxy::new(config).stdio()))
    }

    async fn initialize(&mut self) {
        match self {
            Client::Stdio(proxy) => proxy.client.initialize("2025-11-25").await.result(),
            Client::Http { client, .. } => client.initialize("2025-11-25").await.result(),
        };
    }

    async fn request(&mut self, era: &str, method: &str, params: &str) -> Message {
        match (self, era) {
            (Client::Stdio(proxy), "legacy") => proxy.client.request(method, params).await,
            (Client::Stdio(proxy), _) => proxy.client.modern(method, params).await,
            (Client::Http { client, .. }, "legacy") => client.request(method, params).await,
            (Client::Http { client, .. }, _) => client.modern(method, params).await,
        }
    }

    async fn call(&mut self, era: &str, tool: &str, arguments: &str) -> Message {
        self.request(era, "tools/call", &crate::support::message::call(tool, arguments)).await
    }
}

/// A server of that era, and a config that knows it.
async fn server(era: &str, http: bool, flags: &[&str]) -> (Option<Program>, Config) {
    let flags = ["--era", era].into_iter().chain(flags.iter().copied());
    if !http {
        return (None, Config::new().server("fake", &fake_backend(flags)));
    }
    let (program, url) = Program::start_server(fake_backend(flags.chain(["--http", "127.0.0.1:0"]))).await;
    (Some(program), Config::new().remote("fake", &url))
}

fn our_name() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(r#""io.modelcontextprotocol/serverInfo":{{"name":"starlark-mcp-proxy","version":"{version}"}}"#)
}

/// A result for a stateless client without what the proxy has to add: its name, and the type if there was none.
fn without_additions(result: &str, sent: &str) -> String {
    let name = our_name();
    assert_eq!(result.matches(&name).count(), 1, "the proxy says who it is: {result}");
    let bare = match member(sent, "_meta") {
        Some(_) => result.replacen(&format!(",{name}"), "", 1).replacen(&name, "", 1),
        None => result.replacen(&format!(r#","_meta":{{{name}}}"#), "", 1),
    };
    match member(sent, "resultType") {
        Some(_) => bare,
        None => bare.replacen(r#","resultType":"complete""#, "", 1),
    }
}

/// The result as a server of that era sends it.
fn as_sent(odd: &Odd, server_era: &str) -> String {
    match server_era {
        "modern" => odd.json.replacen('{', r#"{"resultType":"complete","#, 1),
        _ => odd.json.clone(),
    }
}

async fn survives(client: &mut Client, era: &str, server_era: &str, odd: &Odd) {
    if odd.kind == Use::Arguments {
        assert_eq!(client.call(era, "echo", &odd.json).await.structured(), odd.json, "{}", odd.name);
        return;
    }
    let sent = as_sent(odd, server_era);
    let result = client.call(era, "raw", &format!(r#"{{"result":{sent}}}"#)).await.result();
    if era == "modern" {
        assert_eq!(without_additions(&result, &sent), sent, "{}", odd.name);
    } else {
        assert_eq!(result, odd.json, "{}", odd.name);
    }
}

async fn every_odd_message_survives(client_on_http: bool, server_on_http: bool) {
    for server_era in ERAS {
        let (_server, config) = server(server_era, server_on_http, &[]).await;
        let mut client = Client::start(&config.section(PASSTHROUGH), client_on_http).await;
        client.initialize().await;
        for era in ERAS {
            for odd in odd_messages() {
                survives(&mut client, era, server_era, &odd).await;
            }
        }
    }
}

#[tokio::test]
async fn odd_messages_survive_between_pipes() {
    every_odd_message_survives(false, false).await;
}

#[tokio::test]
async fn odd_messages_survive_from_a_pipe_to_http() {
    every_odd_message_survives(false, true).await;
}

#[tokio::test]
async fn odd_messages_survive_from_http_to_a_pipe() {
    every_odd_message_survives(true, false).await;
}

#[tokio::test]
async fn odd_messages_survive_between_http_and_http() {
    every_odd_message_survives(true, true).await;
}

#[tokio::test]
async fn a_client_s_own_meta_reaches_the_server_and_a_server_s_own_the_client() {
    for server_era in ERAS {
        let (_server, config) = server(server_era, false, &[]).await;
        let mut client = Client::start(&config.section(PASSTHROUGH), false).await;
        client.initialize().await;
        let own = r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","vendor/n":1.10"#;
        let params = format!(r#"{{"_meta":{{{own}}},"name":"params","arguments":{{}}}}"#);
        let seen = client.request("legacy", "tools/call", &params).await.structured();
        assert!(seen.contains(own), "{seen}");
        let theirs = r#""io.modelcontextprotocol/serverInfo":{"name":"theirs","version":"1"}"#;
        let result = format!(r#"{{"content":[],"_meta":{{{theirs},"vendor/n":1.10}}}}"#);
        let call = format!(r#"{{"result":{result}}}"#);
        let told = client.call("legacy", "raw", &call).await.result();
        assert_eq!(told, r#"{"content":[],"_meta":{"vendor/n":1.10}}"#);
        let told = client.call("modern", "raw", &call).await.result();
        let kept = format!(r#"{{"content":[],"_meta":{{{},"vendor/n":1.10}},"resultType":"complete"}}"#, our_name());
        assert_eq!(told, kept);
    }
}

#[tokio::test]
async fn an_empty_meta_and_a_text_with_escapes_do_not_disturb_each_other() {
    let (_server, config) = server("modern", false, &[]).await;
    let mut client = Client::start(&config.section(PASSTHROUGH), false).await;
    client.initialize().await;
    let sent = r#"{"resultType":"complete","content":[{"type":"text","text":"\n"}],"_meta":{},"\u0061":1}"#;
    let told = client.call("legacy", "raw", &format!(r#"{{"result":{sent}}}"#)).await.result();
    assert_eq!(told, sent.replacen(r#""resultType":"complete","#, "", 1));
}

#[tokio::test]
async fn an_error_of_a_server_reaches_the_client_as_it_is() {
    let error = r#"{"code":-32000,"message":"\u006do","data":{"n":1.10,"big":1e400}}"#;
    for server_era in ERAS {
        let (_server, config) = server(server_era, false, &[]).await;
        let mut client = Client::start(&config.section(PASSTHROUGH), false).await;
        client.initialize().await;
        for era in ERAS {
            let failed = client.call(era, "rpc_error", error).await;
            let expected = error.replace(r"\u006d", "m");
            assert_eq!(failed.member("error"), Some(expected), "{era} client, {server_era} server");
        }
    }
}

/// What concerns the proxy's own leg, or does not exist in the client's era, is not the client's to solve.
#[tokio::test]
async fn an_error_a_client_could_misread_is_told_as_an_internal_one() {
    for server_era in ERAS {
        let (_server, config) = server(server_era, false, &[]).await;
        let mut client = Client::start(&config.section(PASSTHROUGH), true).await;
        client.initialize().await;
        for (code, to_session, to_stateless) in
            [(-32601, -32601, -32603), (-32042, -32603, -32021), (-32050, -32050, -32603), (-32020, -32603, -32603)]
        {
            let error = format!(r#"{{"code":{code},"message":"m"}}"#);
            let told = client.call("legacy", "rpc_error", &error).await;
            assert_eq!(told.error_code(), to_session, "{code} of a {server_era} server");
            let told = client.call("modern", "rpc_error", &error).await;
            assert_eq!((told.error_code(), told.error_message().as_str()), (to_stateless, "m"), "{code}");
        }
    }
}

const ODD_TOOLS: [&str; 3] = [
    r#"{"x-first":{"n":1.10,"m":[1E+2,-0]},"name":"odd_one","inputSchema":{"type":"object","properties":{"a":{"type":"integer","default":1.0,"x-y":null}},"x-z":1e2},"annotations":{"readOnlyHint":true,"zz":[]},"_meta":{"k":123456789012345678901234567890}}"#,
    r#"{ "inputSchema" : {"type":"object"} , "description":"\u00e9é \/ \ud83e\udd80", "name" : "odd_two" , "icons":[{"src":"data:,","sizes":"any"}] }"#,
    r#"{"name":"odd_three","title":"","inputSchema":{"type":"object","$defs":{"z":{},"a":{}}},"outputSchema":{"type":"object","x":0.000},"x-last":false}"#,
];

fn odd_tools(directory: &TempDir) -> String {
    let path = directory.write("tools.json", &format!("[{}]", ODD_TOOLS.join(",")));
    path.to_str().expect("a temporary path is text").to_owned()
}

async fn lists_exactly(config: &Config, client_on_http: bool, tools: &str) {
    let mut client = Client::start(config, client_on_http).await;
    client.initialize().await;
    for era in ERAS {
        let listed = client.request(era, "tools/list", "{}").await;
        assert_eq!(member(&listed.result(), "tools").as_deref(), Some(tools), "{era}");
    }
}

#[tokio::test]
async fn definitions_of_tools_are_listed_byte_for_byte() {
    let directory = TempDir::new();
    let path = odd_tools(&directory);
    for server_era in ERAS {
        for on_http in [false, true] {
            let (_server, config) = server(server_era, on_http, &["--tools", &path]).await;
            lists_exactly(&config.section(PASSTHROUGH), on_http, &format!("[{}]", ODD_TOOLS.join(","))).await;
        }
    }
}

#[tokio::test]
async fn a_tool_renamed_by_a_script_changes_its_name_and_nothing_else() {
    let script = "sessionInit:\n  script: |\n    for meta, call in backends()[\"fake\"].tools():\n        \
                  publish(meta.replace(name = \"new_\" + meta.name), call)\n";
    let directory = TempDir::new();
    let path = odd_tools(&directory);
    let renamed = format!("[{}]", ODD_TOOLS.join(",")).replace(r#""odd_"#, r#""new_odd_"#);
    for server_era in ERAS {
        let (_server, config) = server(server_era, false, &["--tools", &path]).await;
        let config = config.section(script);
        lists_exactly(&config, false, &renamed).await;
        let mut client = Client::start(&config, false).await;
        client.initialize().await;
        for era in ERAS {
            let arguments = r#"{ "b" : 1.10 , "a":"\ud800" }"#;
            assert_eq!(client.call(era, "new_odd_one", arguments).await.structured(), arguments);
        }
    }
}

/// Links, icons, titles, hints and private members: all that a result of today can carry.
const RICH_RESULT: &str = r#"{"content":[{"type":"resource_link","uri":"ui://x/\u00e9","name":"x","title":"","size":1e2,"icons":[{"src":"data:,","theme":"dark"}],"annotations":{"priority":0.10,"audience":["user"],"lastModified":"2026-01-01"},"_meta":{"ui":{"resourceUri":"ui://x"},"v/n":1.0}},{"type":"resource","resource":{"uri":"a:b","blob":"QQ==","_meta":{}}},{"type":"audio","data":"","mimeType":"audio/wav"},{"type":"text","text":""}],"structuredContent":{"z":1.10,"a":[1e400,{"b":null}]},"isError":false,"_meta":{"ui/resourceUri":"ui://x","v":[]},"x-last":0.0}"#;

#[tokio::test]
async fn links_icons_titles_and_private_members_of_results_survive_everywhere() {
    for server_era in ERAS {
        let (_server, config) = server(server_era, true, &[]).await;
        let mut client = Client::start(&config.section(PASSTHROUGH), true).await;
        client.initialize().await;
        let odd = Odd { name: "rich".to_owned(), kind: Use::Result, json: RICH_RESULT.to_owned() };
        for era in ERAS {
            survives(&mut client, era, server_era, &odd).await;
        }
    }
}
