//! A server that remembers something for each session: `remember` adds a word, and returns all words of the session, the ids of
//! its requests, and the sessions that the server has had and has now.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResult, JsonObject, Tool};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

/// The sessions that were opened, and those that have not ended.
#[derive(Default)]
pub struct Sessions {
    opened: AtomicUsize,
    open: AtomicUsize,
}

/// The memory of one session. It ends with the session.
pub struct Memory {
    sessions: Arc<Sessions>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    words: Vec<Value>,
    requests: Vec<Value>,
}

impl Memory {
    pub fn of_new_session(sessions: &Arc<Sessions>) -> Arc<Self> {
        sessions.opened.fetch_add(1, Ordering::SeqCst);
        sessions.open.fetch_add(1, Ordering::SeqCst);
        Arc::new(Memory { sessions: Arc::clone(sessions), heard: Mutex::default() })
    }

    pub fn call(&self, call: CallToolRequestParams, context: &RequestContext<RoleServer>) -> CallToolResult {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(word) = call.arguments.and_then(|mut arguments| arguments.remove("word")) {
            heard.words.push(word);
        }
        heard.requests.push(json!(context.id));
        CallToolResult::structured(json!({
            "words": heard.words,
            "requests": heard.requests,
            "opened": self.sessions.opened.load(Ordering::SeqCst),
            "open": self.sessions.open.load(Ordering::SeqCst),
        }))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.sessions.open.fetch_sub(1, Ordering::SeqCst);
    }
}

pub fn list() -> Vec<Tool> {
    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}});
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    vec![Tool::new("remember", "Remembers a word.", schema)]
}
