//! One `tools/call` as the tools see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::message::{Refusal, members, quoted};
use crate::request::Request;
use crate::shared::Shared;

pub struct Call {
    pub shared: Arc<Shared>,
    pub request: Request,
    pub name: String,
    arguments: BTreeMap<String, Box<RawValue>>,
    raw_arguments: String,
}

impl Call {
    pub fn new(shared: Arc<Shared>, request: Request) -> Self {
        let raw = request.parameter("arguments");
        Self {
            shared,
            name: request.text_parameter("name").unwrap_or_default(),
            arguments: members(raw.as_deref()),
            raw_arguments: raw.map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned()),
            request,
        }
    }

    pub fn raw_arguments(&self) -> &str {
        &self.raw_arguments
    }

    pub fn raw_argument(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).map(|raw| raw.get())
    }

    pub fn argument<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw_argument(name)?).ok()
    }

    /// Answers with a text block.
    pub fn text(&self, text: &str) {
        self.answer(&self.with_text(text, ""));
    }

    /// Answers with structured content, repeated as text.
    pub fn structured(&self, json: &str) {
        self.answer(&self.with_text(json, &format!(r#","structuredContent":{json}"#)));
    }

    /// Answers with a result as it is.
    pub fn answer(&self, result: &str) {
        self.request.outbox.result(&self.request.id, result);
    }

    pub fn refuse(&self, refusal: &Refusal) {
        self.request.outbox.refuse(&self.request.id, refusal);
    }

    /// A tool result with a text block, more members, and the result type where the era wants one.
    pub fn with_text(&self, text: &str, more: &str) -> String {
        let kind = if self.request.modern { r#","resultType":"complete""# } else { "" };
        format!(r#"{{"content":[{{"type":"text","text":{}}}]{more}{kind}}}"#, quoted(text))
    }
}
