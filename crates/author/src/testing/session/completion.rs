//! Completions in a session under test.

use serde_json::{Value as Json, json};
use starlark::eval::Evaluator;

use super::test_session::TestSession;
use proxy_json::raw;
use proxy_model::ItemKind;
use proxy_script::ScriptError;

impl TestSession {
    /// Completes an argument of a prompt, or a variable of a resource template, as a client does. Returns the completion.
    pub(crate) fn complete(
        &self,
        name: &str,
        argument: &str,
        value: &str,
        context: &Json,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> starlark::Result<Json> {
        let surface = &self.request.surface;
        let kind =
            [ItemKind::Prompt, ItemKind::ResourceTemplate].into_iter().find(|kind| surface.find(*kind, name).is_some());
        let kind = kind.unwrap_or(if name.contains("://") { ItemKind::ResourceTemplate } else { ItemKind::Prompt });
        let reference = match kind {
            ItemKind::Prompt => json!({"type": "ref/prompt", "name": name}),
            _ => json!({"type": "ref/resource", "uri": name}),
        };
        let params = raw(&json!({
            "ref": reference,
            "argument": {"name": argument, "value": value},
            "context": {"arguments": context},
        }));
        let (calls, request) = (self.calls.clone(), self.request.clone());
        let completed = self.world.exchange.wait_for(eval, async move { calls.complete(&request, &params).await })?;
        let completed = completed.map_err(|error| ScriptError::new(error.message()))?;
        let result = completed.outcome.map_err(|fault| self.script_error(completed.kind, &completed.key, fault))?;
        let result: Json = serde_json::from_str(result.get()).unwrap_or_default();
        Ok(result["completion"].clone())
    }
}
