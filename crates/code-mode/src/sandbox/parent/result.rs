//! The result of the tool that ran a script.

use serde_json::{Map, Value, json};

use crate::sandbox::protocol::ScriptFailure;
use proxy_json::{Raw, RawRef};
use proxy_model::error_result;

/// How many bytes of its output the error of a script shows; the last ones.
const MAX_SHOWN_OUTPUT: usize = 16 << 10;

/// The result of a script that returned: its value as `result`, and `printed` if it printed something.
pub(super) fn success(value: &RawRef, printed: String) -> Raw {
    let value: Value = serde_json::from_str(value.get()).unwrap_or_default();
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut content = vec![json!({"type": "text", "text": text})];
    let mut structured = Map::from_iter([("result".to_owned(), value)]);
    if !printed.is_empty() {
        content.push(json!({"type": "text", "text": format!("printed:\n{printed}")}));
        structured.insert("printed".to_owned(), printed.into());
    }
    proxy_json::raw(&json!({"content": content, "structuredContent": structured}))
}

/// The result of a script that failed: the reason, and the text printed before.
pub(super) fn failure(mut reason: String, printed: &str) -> Raw {
    if !printed.is_empty() {
        let start = printed.ceil_char_boundary(printed.len().saturating_sub(MAX_SHOWN_OUTPUT));
        let cut = if start > 0 { format!(" (last {} bytes)", printed.len() - start) } else { String::new() };
        reason.push_str(&format!("\nprinted before the error{cut}:\n{}", &printed[start..]));
    }
    error_result(&reason)
}

impl ScriptFailure {
    /// The error with its line in the script, and the hint on a line of its own.
    pub(super) fn render(&self) -> String {
        let mut text = match self.line {
            Some(line) => format!("{} (line {line} of the script)", self.message),
            None => self.message.clone(),
        };
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        text
    }
}
