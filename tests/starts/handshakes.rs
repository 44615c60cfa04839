//! Servers that speak both eras and take longer to start than `probeTimeout`: they stay in the era in which they are used.

use serde_json::json;

use super::start;
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;
use crate::support::{message, real_servers};

const FORM: &str = r#"{"elicitation":{"form":{}}}"#;
const COLOUR: &str = r#"{"action":"accept","content":{"colour":"teal"}}"#;

/// A server on the Python SDK that asks in the middle of a call. It needs more than a second to start.
const ASKING: &str = r#"
import time
time.sleep(1)
import sys, warnings
sys.path.insert(0, sys.argv[1])
import anyio, json
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from call import Call, era_wise, text
from dialogue import ask, form
warnings.simplefilter("ignore")

async def list_tools(context, params):
    return {"tools": [{"name": "colour", "inputSchema": {"type": "object"}}]}

async def call_tool(context, params):
    call = Call(context, params.name, params.arguments or {})
    answers, asked = await ask(call, {"answer": form("Which colour?", {"colour": {"type": "string"}})})
    return asked or text(json.dumps(answers["answer"]))

async def main():
    server = Server("asking", version="1", on_list_tools=era_wise(list_tools), on_call_tool=era_wise(call_tool))
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())

anyio.run(main)
"#;

/// Calls a tool that asks, as a stateless client does: with the answer in a second request.
async fn asked_twice(client: &mut HttpClient) {
    for round in 1..=2 {
        let call = message::call("colour", "{}");
        let first = client.modern_with("tools/call", &call, FORM).await;
        let required = &first.value()["result"];
        assert_eq!(required["resultType"], "input_required", "round {round}: {}", first.raw);
        let names: Vec<String> = required["inputRequests"].as_object().expect("questions").keys().cloned().collect();
        let answer: serde_json::Value = serde_json::from_str(COLOUR).expect("JSON");
        let answers: serde_json::Map<_, _> = names.into_iter().map(|name| (name, answer.clone())).collect();
        let again = json!({"name": "colour", "arguments": {}, "inputResponses": answers, "requestState": required["requestState"]});
        let done = client.modern_with("tools/call", &again.to_string(), FORM).await;
        assert!(done.raw.contains("teal"), "round {round}: {}", done.raw);
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_slow_server_of_both_eras_can_ask_more_than_once() {
    let directory = TempDir::new();
    let script = directory.write("asking.py", ASKING);
    let Some(mut python) = real_servers::python() else { return };
    python.arg(script).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/python_server"));
    let config = Config::new().server_with("asking", &python, json!({"probeTimeout": "300ms"}));
    let mut proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    asked_twice(&mut proxy.client()).await;
}

#[tokio::test]
async fn who_answers_both_questions_is_met_in_a_session() {
    // It answers what was sent first, and then the other.
    let slow = fake_backend(["--start-delay", "900"]);
    let config = Config::new().server_with("fake", &slow, json!({"probeTimeout": "300ms"}));
    let mut proxy = Proxy::new(&config).stdio();
    let listed = proxy.client.modern("tools/list", "{}").await.tool_names();
    assert!(listed.contains(&"params".to_owned()), "{listed:?}");
    let params = proxy.client.modern_call("params", "{}").await.structured();
    assert!(!params.contains("io.modelcontextprotocol/protocolVersion"), "{params}");
    let mut proxy = start(Proxy::new(&config)).await;
    let params = proxy.client.call("params", "{}").await.structured();
    assert!(!params.contains("io.modelcontextprotocol/protocolVersion"), "{params}");
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_server_that_asks_for_folders_acts_on_them_before_the_first_call() {
    let directory = TempDir::new();
    let (configured, own) = (directory.directory("configured"), directory.directory("own"));
    directory.write("own/hello.txt", "hello");
    let Some(filesystem) = real_servers::filesystem(&configured) else { return };
    let config = Config::new().server_with("files", &filesystem, json!({"scope": "session"}));
    let mut proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let roots = json!({"roots": [{"uri": format!("file://{}", own.display())}]}).to_string();
    for _ in 0..3 {
        let mut client = proxy.client();
        client.initialize_with("2025-11-25", r#"{"roots":{}}"#).await.result();
        let mut questions = client.get_stream().await;
        let path = json!({"path": own.join("hello.txt")}).to_string();
        let read = message::request("7", "tools/call", &message::call("read_text_file", &path));
        let calling = async { client.send(&client.legacy(&read)).await.response().await };
        let answering = async {
            while let Some(message) = questions.next_message().await {
                // A list that has changed may be announced on the same stream.
                let Some(id) = message.id() else { continue };
                assert_eq!(client.send(&client.legacy(&message::result(&id, &roots))).await.status, 202);
            }
            panic!("the stream of the session has ended")
        };
        let answer = tokio::select! {
            answer = calling => answer,
            () = answering => unreachable!("it does not end"),
        };
        assert!(answer.raw.contains("hello") && !answer.raw.contains("denied"), "{}", answer.raw);
    }
}
