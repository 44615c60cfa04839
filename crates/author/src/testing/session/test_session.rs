//! A session under test, and requests to it.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use starlark::eval::Evaluator;

use super::following::FollowedResources;
use super::recording::RecordedValues;
use crate::testing::world::{ScriptedUser, TestWorld};
use proxy_base::diagnostic::nearest;
use proxy_engine::calls::{Calls, ItemCall, OtherRequest, RequestContext};
use proxy_json::{Raw, raw};
use proxy_mcp_client::CallError;
use proxy_model::ItemKind;
use proxy_script::ScriptError;

pub(crate) struct TestSession {
    pub world: Arc<TestWorld>,
    pub calls: Calls,
    /// The context of every request, with the surface of the session.
    pub request: RequestContext,
    pub user: Arc<ScriptedUser>,
    /// The calls that reached each fake server, by its name.
    pub backend_calls: Vec<(String, RecordedValues)>,
    pub log: RecordedValues,
    /// The resources that the client follows.
    pub followed: FollowedResources,
}

impl TestSession {
    /// A list as the client sees it.
    pub(crate) fn list(&self, kind: ItemKind) -> Json {
        serde_json::from_str(self.request.surface.list(kind)).unwrap_or_default()
    }

    /// The calls that reached a fake server.
    pub(crate) fn calls_of(&self, backend: &str) -> Result<Json, ScriptError> {
        let found = self.backend_calls.iter().find(|(name, _)| name == backend);
        let (_, calls) = found.ok_or_else(|| {
            let names: Vec<&str> = self.backend_calls.iter().map(|(name, _)| name.as_str()).collect();
            let error = ScriptError::new(format!("unknown server `{backend}` in this session"));
            error.hint(format!("its servers: {}", names.join(", ")))
        })?;
        Ok(calls.to_json())
    }

    /// Calls a tool, reads a resource or gets a prompt, as a client does.
    pub(crate) fn request(
        &self,
        kind: ItemKind,
        key: &str,
        arguments: Option<&Json>,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> starlark::Result<Raw> {
        let mut params = json!({ kind.use_member(): key });
        if let Some(arguments) = arguments {
            params["arguments"] = arguments.clone();
        }
        let (calls, request) = (self.calls.clone(), self.request.clone());
        let call = ItemCall::new(&self.request.surface, kind, key, raw(&params));
        let outcome = self.world.exchange.wait_for(eval, async move { calls.item(&request, call).await })?;
        if let Some(question) = self.user.take_unanswered() {
            return Err(ScriptError::new(format!("`{key}` asked {question:?}, but no answer is left"))
                .hint("pass one answer per elicitation: `testing.session(..., answers = [{\"action\": \"accept\"}])`")
                .into());
        }
        outcome.map_err(|fault| self.script_error(kind, key, fault).into())
    }

    /// Runs the script's `on_other_request` as before a request that is not for an item.
    pub(crate) fn other_request(
        &self,
        method: &str,
        name: &str,
        arguments: &Json,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> starlark::Result<()> {
        if ItemKind::used_by(method).is_some() {
            return Err(ScriptError::new(format!("`on_other_request` does not see `{method}`; `on_request` does"))
                .hint("use `call`, `get_prompt` or `read_resource`")
                .into());
        }
        let (calls, request) = (self.calls.clone(), self.request.clone());
        let (method, name, arguments) = (method.to_owned(), name.to_owned(), raw(arguments));
        let outcome = self.world.exchange.wait_for(eval, async move {
            let other = || OtherRequest { method: &method, name: &name, arguments, forwarded: None };
            calls.admit_other(&request, other).await
        })?;
        outcome.map_err(|fault| self.script_error(ItemKind::Tool, "", fault).into())
    }

    pub(super) fn script_error(&self, kind: ItemKind, key: &str, fault: CallError) -> ScriptError {
        match fault {
            CallError::Unknown => self.unknown_item(kind, key),
            CallError::Rejected(error) => ScriptError::new(error.message()),
            CallError::Asks(_) => ScriptError::new("the call is waiting for the user's answer"),
            error => ScriptError::new(error.to_string()),
        }
    }

    pub(super) fn unknown_item(&self, kind: ItemKind, key: &str) -> ScriptError {
        let error = ScriptError::new(format!("unknown {}: {key}", kind.noun()));
        let list = self.list(kind);
        let member = kind.use_member();
        let names: Vec<&str> = list.as_array().into_iter().flatten().filter_map(|item| item[member].as_str()).collect();
        match nearest(key, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if names.is_empty() => error.hint(format!("the session publishes no {}", kind.noun())),
            None => error.hint(format!("the session publishes {}", names.join(", "))),
        }
    }
}
