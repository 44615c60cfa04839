//! Questions of what is no tool of a session script: prompts, resources, extensions.

use serde_json::json;

use super::{accept, client, messages, text};
use crate::elicitation::{Client, EVERYTHING};
use crate::support::config::Config;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn prompts_and_resources_may_ask() {
    let script = r#"
def prompt(args):
    return "You said " + elicit("Prompt?", when_unavailable = "error").action
def resource(args):
    return "They said " + elicit("Read %s?" % args["uri"], when_unavailable = "error").action
publish_prompt(prompt_metadata("greeting", "Greets", []), prompt)
publish_resource(resource_metadata("team://rules", "rules"), resource)
"#;
    for modern in [false, true] {
        let mut client = client(script, modern).await;
        let (questions, outcome) = client.converse_with("prompts/get", json!({"name": "greeting"}), |_| accept()).await;
        assert_eq!(messages(&questions), ["Prompt?"], "modern {modern}: {outcome}");
        assert_eq!(outcome["result"]["messages"][0]["content"]["text"], "You said accept");
        let params = json!({"uri": "team://rules"});
        let (questions, outcome) =
            client.converse_with("resources/read", params, |_| json!({"action": "decline"})).await;
        assert_eq!(messages(&questions), ["Read team://rules?"], "modern {modern}: {outcome}");
        assert_eq!(outcome["result"]["contents"][0]["text"], "They said decline");
    }
}

const EXTENSION: &str = r#"
def careful(params):
    return "done: " + elicit("Local?", when_unavailable = "error").action
def describe_extension():
    return Extension(name = "local", version = "1", tools = [Tool(name = "careful", description = "", handler = careful)])
"#;

#[tokio::test]
async fn a_local_tool_may_ask_published_as_it_is_or_called_by_a_handler() {
    let script = r#"
careful = backends()["local"].tools()[0]
publish(careful[0], careful[1])
def twice(args):
    return [careful[1]({})["content"][0]["text"], careful[1]({})["content"][0]["text"]]
publish(metadata("twice", "", {}, {}), twice)
"#;
    for modern in [false, true] {
        let config =
            Config::new().section("extensions: { paths: [local.star] }\nsessionInit: { scriptFile: policy.star }");
        let proxy = Proxy::new(&config).file("policy.star", script).file("local.star", EXTENSION);
        let mut client = Client::at(proxy, modern, EVERYTHING).await;
        let (questions, outcome) = client.converse("careful", json!({}), accept()).await;
        assert_eq!(messages(&questions), ["Local?"], "modern {modern}: {outcome}");
        assert_eq!(text(&outcome), "done: accept");
        let (questions, outcome) = client.converse("twice", json!({}), accept()).await;
        assert_eq!(messages(&questions), ["Local?", "Local?"], "modern {modern}: {outcome}");
        assert_eq!(text(&outcome), r#"["done: accept","done: accept"]"#);
    }
}
