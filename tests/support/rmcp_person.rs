//! Who sits at rmcp's client: what they can be asked, what they answer, and what they were asked.
#![expect(deprecated, reason = "sampling and roots are on their way out of the protocol, not out of this test")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorCode, ListRootsResult, Root, SamplingMessage,
};
use serde_json::{Value, json};

pub struct Person {
    present: bool,
    declines: AtomicBool,
    asked: Mutex<Vec<String>>,
}

impl Person {
    /// Nobody: the client declares nothing.
    pub fn absent() -> Self {
        Self { present: false, declines: AtomicBool::new(false), asked: Mutex::default() }
    }

    /// Somebody who answers everything.
    pub fn present() -> Self {
        Self { present: true, ..Self::absent() }
    }

    /// From now on everything is declined.
    pub fn decline(&self) {
        self.declines.store(true, Ordering::SeqCst);
    }

    /// What was asked since the last look.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn capabilities(&self) -> ClientCapabilities {
        let everything = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        let declared = if self.present { everything } else { json!({}) };
        serde_json::from_value(declared).expect("rmcp knows these capabilities")
    }

    pub fn elicited(&self, question: &ElicitRequestParams) -> ElicitResult {
        match question {
            ElicitRequestParams::FormElicitationParams { message, .. } => {
                self.note(format!("form {message}"));
                self.chosen(Some(json!({"colour": "teal"})))
            }
            ElicitRequestParams::UrlElicitationParams { url, .. } => self.sent_to(url),
            _ => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    /// They are asked to visit an address.
    pub fn sent_to(&self, url: &str) -> ElicitResult {
        self.note(format!("url {url}"));
        self.chosen(None)
    }

    fn chosen(&self, content: Option<Value>) -> ElicitResult {
        match (self.declines.load(Ordering::SeqCst), content) {
            (true, _) => ElicitResult::new(ElicitationAction::Decline),
            (false, Some(content)) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
            (false, None) => ElicitResult::new(ElicitationAction::Accept),
        }
    }

    pub fn sampled(&self, question: &CreateMessageRequestParams) -> Result<CreateMessageResult, ErrorData> {
        let messages = json!(question.messages);
        self.note(format!("model {}", messages[0]["content"]["text"].as_str().unwrap_or_default()));
        self.unless_declined()?;
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("a fine word"), "m".to_owned()))
    }

    pub fn folders(&self) -> Result<ListRootsResult, ErrorData> {
        self.note("folders".to_owned());
        self.unless_declined()?;
        Ok(ListRootsResult::new(vec![Root::new("file:///home/ann")]))
    }

    fn unless_declined(&self) -> Result<(), ErrorData> {
        if self.declines.load(Ordering::SeqCst) {
            return Err(ErrorData::new(ErrorCode(-1), "User rejected", None));
        }
        Ok(())
    }

    fn note(&self, question: String) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question);
    }
}
