//! The decisions of another implementation: 1,952 of cedar-go, about requests as ToolHive describes them. They were
//! recorded once; `tests/corpus/cedar/decisions.json` has a letter for each request under each set of policies:
//!
//! - `A` allow, `D` deny, `d` deny while a policy fails to evaluate;
//! - `p` allow but for a `permit` that fails, `f` allow but for a `forbid` that fails. ToolHive denies both.

use serde::Deserialize;
use serde_json::{Value, json};

use super::tests::{load, resource_or_prompt, tool};
use super::*;
use proxy_json::raw;
use proxy_model::{ClientInfo, ItemKind, Principal};

#[derive(Deserialize)]
struct Recorded {
    requests: Vec<RecordedUse>,
    decisions: Vec<RecordedDecisions>,
}

#[derive(Deserialize)]
struct RecordedUse {
    claims: Value,
    #[serde(rename = "use")]
    kind: String,
    item: String,
    server: String,
    #[serde(default)]
    annotations: Value,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct RecordedDecisions {
    policies: Vec<String>,
    entities: Option<Value>,
    answers: String,
}

impl RecordedUse {
    fn principal(&self) -> Principal {
        let claim = |name: &str| self.claims[name].as_array().cloned();
        let groups = claim("groups").or_else(|| claim("roles")).unwrap_or_default();
        Principal::named(self.claims["sub"].as_str().unwrap()).with(|user| {
            user.groups = groups.iter().filter_map(|group| group.as_str().map(str::to_owned)).collect();
            user.name = self.claims["name"].as_str().unwrap_or_default().into();
            user.claims = self.claims.to_string().into();
        })
    }

    fn is_allowed(&self, policies: &Policies) -> bool {
        let annotations = if self.annotations.is_null() { json!({}) } else { self.annotations.clone() };
        let (action, definition) = match self.kind.as_str() {
            "tool" => (PolicyAction::CallTool, tool(&self.item, annotations)),
            "prompt" => (PolicyAction::GetPrompt, resource_or_prompt(ItemKind::Prompt, &self.item)),
            _ => (PolicyAction::ReadResource, resource_or_prompt(ItemKind::Resource, &self.item)),
        };
        let (principal, client) = (self.principal(), ClientInfo::default());
        let caller = AccessCaller { principal: &principal, client: &client };
        let item = AccessItem {
            action,
            id: &self.item,
            server: &self.server,
            original: &self.item,
            definition: Some(&definition),
        };
        let arguments = Some(raw(&self.arguments)).filter(|arguments| arguments.get() != "null");
        policies.decide(&AccessRequest { caller, item, arguments: arguments.as_deref(), via: "" }).is_allowed()
    }
}

#[test]
fn decisions_are_those_of_cedar_go_except_where_they_are_stricter() {
    let recorded: Recorded =
        serde_json::from_str(include_str!("../../../../tests/corpus/cedar/decisions.json")).unwrap();
    let mut denied = 0;
    for RecordedDecisions { policies, entities, answers } in &recorded.decisions {
        let loaded = load(&policies.join("\n"), entities.as_ref().map(Value::to_string).as_deref()).unwrap();
        assert_eq!(answers.len(), recorded.requests.len());
        for (request, answer) in recorded.requests.iter().zip(answers.chars()) {
            // A permit that fails permits nothing, and a forbid that fails denies.
            let theirs = matches!(answer, 'A' | 'p');
            let ours = request.is_allowed(&loaded);
            if ours != theirs {
                // ToolHive leaves out or rounds what no decimal of Cedar can hold, so that a `forbid` may not see it. Here it is
                // denied where a policy that may apply reads arguments.
                let has_such_number = [json!(1e30), json!(5.00001), json!(9_007_199_254_740_993_i64)]
                    .iter()
                    .any(|number| request.arguments["n"] == *number);
                assert!(!ours && has_such_number, "{policies:?}: {} {}", request.item, request.arguments);
                denied += 1;
            }
        }
    }
    assert_eq!(denied, 14, "how often such a number is denied");
}
