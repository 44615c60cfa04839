//! Tools of the stateless scenarios that need input before they can answer.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, InputRequests, InputResponses, Tool};
use serde_json::json;

use crate::call::Call;
use crate::dialogue::{Dialogue, Outcome};
use crate::fixtures::{text, tool};
use crate::questions::{answerable, form, one, roots, sampling};

const TOOLS: [(&str, &str); 10] = [
    ("test_input_required_result_elicitation", "Asks for a name."),
    ("test_input_required_result_sampling", "Asks the client's model."),
    ("test_input_required_result_list_roots", "Asks for the client's roots."),
    ("test_input_required_result_request_state", "Asks, and has the client keep the state."),
    ("test_input_required_result_multiple_inputs", "Asks three things at once."),
    ("test_input_required_result_multi_round", "Asks twice in a row."),
    ("test_input_required_result_tampered_state", "Refuses a state that was changed."),
    ("test_input_required_result_capabilities", "Asks only what the client can answer."),
    ("test_streaming_elicitation", "Asks for a value."),
    ("test_missing_capability", "Needs a client that can sample."),
];

pub fn definitions() -> Vec<Tool> {
    TOOLS.iter().map(|(name, description)| tool(name, description, &json!({}))).collect()
}

pub async fn call(call: &Call) -> Option<Result<CallToolResponse, ErrorData>> {
    if !TOOLS.iter().any(|(name, _)| *name == call.name) {
        return None;
    }
    Some(match dialogue(call) {
        Ok(dialogue) => dialogue.hold(call).await.map(|outcome| match outcome {
            Outcome::Asked(questions) => questions.into(),
            Outcome::Answered(answers) => text(told(&call.name, &answers)),
        }),
        Err(problem) => Err(problem),
    })
}

fn dialogue(call: &Call) -> Result<Dialogue, ErrorData> {
    let name = || form("What is your name?", json!({"name": {"type": "string"}}));
    let confirmation = || form("Please confirm", json!({"ok": {"type": "boolean"}}));
    Ok(match call.name.trim_start_matches("test_input_required_result_") {
        "elicitation" => Dialogue::once(one("user_name", name()?)),
        "sampling" => Dialogue::once(one("capital_question", sampling("What is the capital of France?")?)),
        "list_roots" => Dialogue::once(one("client_roots", roots()?)),
        "request_state" | "tampered_state" => Dialogue::with_state([one("confirm", confirmation()?)]),
        "multiple_inputs" => Dialogue::with_state([all_kinds()?]),
        "multi_round" => Dialogue::with_state([
            one("step1", name()?),
            one("step2", form("What is your favourite colour?", json!({"color": {"type": "string"}}))?),
        ]),
        "capabilities" => {
            let capabilities = call.capabilities();
            Dialogue::once(all_kinds()?.into_iter().filter(|(_, it)| answerable(it, &capabilities)).collect())
        }
        "test_missing_capability" => Dialogue::once(one("greeting", sampling("Greet the user")?)),
        _ => Dialogue::once(one("value", form("Please give a value", json!({"value": {"type": "string"}}))?)),
    })
}

fn all_kinds() -> Result<InputRequests, ErrorData> {
    Ok(InputRequests::from([
        ("user_name".to_owned(), form("What is your name?", json!({"name": {"type": "string"}}))?),
        ("greeting".to_owned(), sampling("Greet the user")?),
        ("client_roots".to_owned(), roots()?),
    ]))
}

fn told(tool: &str, answers: &InputResponses) -> String {
    match tool {
        "test_input_required_result_elicitation" => {
            let name = answers.get("user_name").and_then(|answer| answer["content"]["name"].as_str());
            format!("Hello, {}!", name.unwrap_or("stranger"))
        }
        "test_input_required_result_request_state" => "state-ok".to_owned(),
        _ => json!(answers).to_string(),
    }
}
