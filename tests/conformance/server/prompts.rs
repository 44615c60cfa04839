//! The prompts, one of which asks before it answers.

use rmcp::ErrorData;
use rmcp::model::{
    ContentBlock, GetPromptResponse, GetPromptResult, Prompt, PromptArgument, PromptMessage, ResourceContents, Role,
};
use serde_json::json;

use crate::audience::{Audience, Kind};
use crate::call::Call;
use crate::changes::prompt_that_comes_and_goes;
use crate::dialogue::{Dialogue, Outcome};
use crate::fixtures::PNG;
use crate::questions::{form, one};

pub const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";

pub fn all(audience: &Audience) -> Vec<Prompt> {
    let mut prompts = vec![
        prompt("test_simple_prompt", "One sentence.", &[]),
        prompt(WITH_ARGUMENTS, "A sentence with two gaps.", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", "A resource and a sentence.", &["resourceUri"]),
        prompt("test_prompt_with_image", "A picture and a sentence.", &[]),
        prompt("test_input_required_result_prompt", "Asks what it is about.", &[]),
    ];
    if audience.has_extra(Kind::Prompts) {
        prompts.push(prompt_that_comes_and_goes());
    }
    prompts
}

fn prompt(name: &str, description: &str, arguments: &[&str]) -> Prompt {
    let arguments: Vec<PromptArgument> = arguments
        .iter()
        .map(|name| PromptArgument::new(*name).with_description("To be filled in.").with_required(true))
        .collect();
    Prompt::new(name, Some(description), (!arguments.is_empty()).then_some(arguments))
}

pub async fn get(call: &Call) -> Result<GetPromptResponse, ErrorData> {
    let messages = match call.name.as_str() {
        "test_simple_prompt" => vec![user("This is a simple prompt for testing.")],
        WITH_ARGUMENTS => {
            let (first, second) = (call.text("arg1"), call.text("arg2"));
            vec![user(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = ResourceContents::text("Embedded resource content for testing.", call.text("resourceUri"));
            vec![
                PromptMessage::new(Role::User, ContentBlock::resource(resource.with_mime_type("text/plain"))),
                user("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::new(Role::User, ContentBlock::image(PNG, "image/png")),
            user("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => return ask(call).await,
        "test_passing_prompt" => vec![user("I am here.")],
        name => return Err(ErrorData::invalid_params(format!("there is no prompt `{name}`"), None)),
    };
    Ok(GetPromptResult::new(messages).into())
}

async fn ask(call: &Call) -> Result<GetPromptResponse, ErrorData> {
    let question = form("What is it about?", json!({"context": {"type": "string"}}))?;
    Ok(match Dialogue::once(one("user_context", question)).hold(call).await? {
        Outcome::Asked(questions) => questions.into(),
        Outcome::Answered(answers) => {
            let context = answers.get("user_context").and_then(|answer| answer["content"]["context"].as_str());
            GetPromptResult::new(vec![user(format!("It is about {}.", context.unwrap_or("nothing")))]).into()
        }
    })
}

fn user(text: impl Into<String>) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}
