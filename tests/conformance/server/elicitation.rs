//! Tools of the session-based scenarios that ask the client for something.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, InputRequests, Tool};
use serde_json::{Value, json};

use crate::call::Call;
use crate::dialogue::{Dialogue, Outcome};
use crate::fixtures::{text, tool};
use crate::questions::{form, form_with_schema, one, sampling};

pub fn definitions() -> Vec<Tool> {
    let none = json!({});
    vec![
        tool("test_sampling", "Has the client's model answer a prompt.", &json!({"prompt": {"type": "string"}})),
        tool("test_elicitation", "Asks the user for a name and an address.", &json!({"message": {"type": "string"}})),
        tool("test_elicitation_sep1034_defaults", "Asks with a default for every kind of field.", &none),
        tool("test_elicitation_sep1330_enums", "Asks with every kind of choice.", &none),
    ]
}

pub async fn call(call: &Call) -> Option<Result<CallToolResponse, ErrorData>> {
    let questions = match call.name.as_str() {
        "test_sampling" => sampling(call.text("prompt")),
        "test_elicitation" => {
            form(call.text("message"), json!({"username": {"type": "string"}, "email": {"type": "string"}}))
        }
        "test_elicitation_sep1034_defaults" => form_with_schema("Please look through these values", defaults()),
        "test_elicitation_sep1330_enums" => form_with_schema("Please choose", choices()),
        _ => return None,
    };
    Some(match questions {
        Ok(question) => ask(call, one("answer", question)).await,
        Err(problem) => Err(problem),
    })
}

async fn ask(call: &Call, questions: InputRequests) -> Result<CallToolResponse, ErrorData> {
    Ok(match Dialogue::once(questions).hold(call).await? {
        Outcome::Asked(questions) => questions.into(),
        Outcome::Answered(answers) => {
            let answer = answers.get("answer").cloned().unwrap_or_default();
            text(told(&call.name, &answer))
        }
    })
}

fn told(tool: &str, answer: &Value) -> String {
    match tool {
        "test_sampling" => format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or_default()),
        "test_elicitation" => format!("User response: {answer}"),
        _ => format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"]),
    }
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |word: &str| {
        let choice = |(number, nth): (usize, &str)| json!({"const": format!("value{}", number + 1), "title": format!("{nth} {word}")});
        ["First", "Second", "Third"].into_iter().enumerate().map(choice).collect::<Vec<Value>>()
    };
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }})
}
