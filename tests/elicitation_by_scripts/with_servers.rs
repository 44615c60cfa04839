//! Questions of scripts and questions of the servers that they call, in one call.

use serde_json::{Value, json};

use super::{accept, messages, reached, text, world};
use crate::elicitation::{Client, ERAS, EVERYTHING};

const SCRIPT: &str = r#"
def before(args):
    said = elicit("Script?", when_unavailable = "error").action
    return [said, json.encode(tools["ask"]({"message": "Server?"}))]
def after(args):
    got = tools["ask"]({"message": "Server?"})
    said = elicit("Script?", when_unavailable = "error").action
    return [said, json.encode(got)]
def beside(args):
    return parallel([
        lambda: elicit("Script?", when_unavailable = "error").action,
        lambda: json.encode(tools["ask"]({"message": "Server?"})),
    ])
show("before", before)
show("after", after)
show("beside", beside)
"#;

fn answer(question: &Value) -> Value {
    match question["params"]["message"].as_str() {
        Some("Server?") => json!({"action": "accept", "content": {"colour": "teal"}}),
        _ => accept(),
    }
}

#[tokio::test]
async fn a_script_and_its_server_may_ask_in_any_order_and_era() {
    for era in ERAS {
        for modern in [false, true] {
            let mut client = Client::at(world(era, SCRIPT), modern, EVERYTHING).await;
            for (tool, expected) in [
                ("before", ["Script?", "Server?"]),
                ("after", ["Server?", "Script?"]),
                ("beside", ["Server?", "Script?"]),
            ] {
                let params = json!({"name": tool, "arguments": {}});
                let (questions, outcome) = client.converse_with("tools/call", params, answer).await;
                assert_eq!(messages(&questions), expected, "{tool}, {era} server, modern client {modern}: {outcome}");
                assert!(text(&outcome).starts_with(r#"["accept","#), "{outcome}");
                assert!(text(&outcome).contains("teal"), "{outcome}");
            }
            let rounds = if era == "modern" { 2 } else { 1 };
            assert_eq!(reached(&mut client, "Server?").await, 3 * rounds, "{era}, {modern}");
        }
    }
}
