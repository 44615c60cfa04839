//! What a tool returns.

use std::borrow::Cow;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::visible;

/// The longest answer. A model reads all of it.
const MAX_ANSWER: usize = 256 << 10;

/// An answer, or why there is none.
pub(super) type Answered = Result<Answer, Vec<Diagnostic>>;

#[derive(Debug)]
pub(super) enum Answer {
    Text(String),
    Data(Value),
}

/// The result for the client. Texts of servers and scripts are shown with what hides in them.
pub(super) fn result(answered: Answered) -> CallToolResult {
    match answered {
        Ok(Answer::Text(text)) if text.len() <= MAX_ANSWER => text_result(&text),
        Ok(Answer::Text(text)) => error_result(&too_long(text.len())),
        Ok(Answer::Data(mut value)) => {
            show_hidden(&mut value);
            let text = value.to_string();
            if text.len() > MAX_ANSWER {
                return error_result(&too_long(text.len()));
            }
            let mut result = text_result(&text);
            result.structured_content = Some(value);
            result
        }
        Err(problems) => {
            let texts: Vec<String> = problems.iter().map(|problem| problem.render(false)).collect();
            error_result(&texts.join("\n\n"))
        }
    }
}

/// Writes out the hidden characters of every text.
fn show_hidden(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = visible(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show_hidden),
        Value::Object(members) => members.values_mut().for_each(show_hidden),
        _ => {}
    }
}

fn too_long(length: usize) -> String {
    let problem = format!("the answer has {} KiB; the limit is {} KiB", length >> 10, MAX_ANSWER >> 10);
    Diagnostic::error(problem).hint("ask for less: one server, one name, one test file").render(false)
}

fn text_result(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn error_result(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(visible(text))])
}
