//! A recorded call without personal data and secrets, as far as they are recognized.

use super::call_line::CallLine;
use proxy_builtins::redacted_json;
use proxy_json::{Raw, raw, valid};

impl CallLine {
    /// This call with what `proxy calls` hides replaced.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        let texts = [&mut self.params, &mut self.result, &mut self.client.info, &mut self.client.capabilities];
        texts.into_iter().flatten().for_each(redact);
        redact(&mut self.user.claims);
        for text in [&mut self.user.sub, &mut self.user.email, &mut self.user.name, &mut self.name] {
            redact_text("", text);
        }
        for (name, value) in &mut self.headers {
            redact_text(name, value);
        }
        self.questions.iter_mut().for_each(|question| redact(&mut question.answer));
        for call in &mut self.server_calls {
            redact(&mut call.params);
            call.result.iter_mut().for_each(redact);
        }
        self
    }
}

fn redact(text: &mut Raw) {
    if let Ok(redacted) = valid(redacted_json(text.get())) {
        *text = redacted;
    }
}

/// Redacts the value of a member of this name.
fn redact_text(name: &str, text: &mut String) {
    let object = raw(&serde_json::json!({ name: text.as_str() }));
    let redacted = serde_json::from_str::<serde_json::Value>(&redacted_json(object.get()));
    if let Some(hidden) = redacted.ok().as_ref().and_then(|redacted| redacted[name].as_str()) {
        hidden.clone_into(text);
    }
}
