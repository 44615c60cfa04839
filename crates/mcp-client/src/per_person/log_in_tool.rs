//! The tool that a server has for a person who has not logged in yet.

use std::sync::Arc;

use serde_json::{Value, json};

use super::account::PersonalAccount;
use crate::call::BackendCall;
use proxy_json::{Object, RawRef, raw};
use proxy_model::{BackendView, Definition, ItemKind, Lists, ServerInfo, Status, error_line};

impl PersonalAccount {
    /// Whether this is a call of the tool.
    pub(super) fn is_log_in(&self, call: &BackendCall) -> bool {
        let name = |params: &RawRef| Object::of(params).ok()?.string("name");
        call.method == ItemKind::Tool.use_method()
            // Hardly any call has the name in it, and then nothing has to be parsed. It has no letter that JSON has to escape.
            && call.params.get().contains(&self.tool_name)
            && name(&call.params).is_some_and(|name| *name == *self.tool_name)
    }

    /// The view of a server that waits for the person's log-in. What it listed last stays; before that it has the tool.
    pub(super) fn waiting_view(&self, view: &BackendView) -> BackendView {
        let waiting = BackendView { status: Status::Cached, error: error_line(&view.error), ..view.clone() };
        if *view.lists != Lists::default() {
            return waiting;
        }
        let lists = Lists { tools: self.definition().into_iter().collect(), ..Lists::default() };
        let info = ServerInfo { capabilities: json!({"tools": {"listChanged": true}}), ..ServerInfo::default() };
        BackendView { lists: Arc::new(lists), info: Arc::new(info), ..waiting }
    }

    fn definition(&self) -> Option<Arc<Definition>> {
        let about = if self.about.is_empty() { String::new() } else { format!(" ({})", self.about) };
        let definition = json!({
            "name": self.tool_name,
            "title": format!("Log in at {}", self.server),
            "description": format!(
                "Logs the user in at {}{about}. Call this first: the other tools of {} are listed after the log-in.",
                self.server, self.server
            ),
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
            "annotations": {"readOnlyHint": true},
        });
        Definition::parse(ItemKind::Tool, raw(&definition)).ok().map(Arc::new)
    }

    /// The result of the tool.
    pub(super) fn logged_in(&self, view: &BackendView) -> Value {
        let tools = match (view.status, view.lists.tools.len()) {
            (Status::Ready, 1) => ": 1 tool".to_owned(),
            (Status::Ready, count) => format!(": {count} tools"),
            _ if view.error.is_empty() => String::new(),
            _ => format!(", but the server is not available: {}", error_line(&view.error)),
        };
        json!({"content": [{"type": "text", "text": format!("you are logged in at `{}`{tools}", self.server)}]})
    }
}
