//! Groups callers that no policy distinguishes. Most policies only test whether the caller is a named user or in a named
//! group: thousands of users then form a handful of classes, and a decision for one caller holds for its whole class.

use std::collections::HashMap;
use std::sync::Arc;

use cedar_policy::{Entities, EntityUid, PrincipalConstraint};
use serde_json::Value;

use crate::cedar::analysis::{attribute, is_of_arguments, is_variable};
use crate::cedar::load::LoadedPolicy;

/// Which of the named principals a caller is or is in, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::cedar) struct CallerClass(Arc<[bool]>);

impl CallerClass {
    /// Whether the scope of a policy can hold for the callers of this class.
    pub(in crate::cedar) fn fits(&self, scope: Option<usize>) -> bool {
        scope.is_none_or(|number| self.0.get(number).copied().unwrap_or(true))
    }
}

/// The users and groups that policies name.
#[derive(Debug)]
pub(in crate::cedar) struct NamedPrincipals {
    numbers: HashMap<EntityUid, usize>,
    /// For each policy, the number of the principal that its scope names.
    scopes: Vec<Option<usize>>,
    /// Whether the class of a caller is all that the policies read of it.
    tell_classes_only: bool,
}

impl NamedPrincipals {
    /// `client` is the type of the entities of callers.
    pub(in crate::cedar) fn of(policies: &[LoadedPolicy], file: &Entities, client: &str) -> Self {
        let mut named = NamedPrincipals { numbers: HashMap::new(), scopes: Vec::new(), tell_classes_only: true };
        for policy in policies {
            let scope = match policy.policy.principal_constraint() {
                PrincipalConstraint::Any | PrincipalConstraint::Is(_) => None,
                PrincipalConstraint::In(uid) | PrincipalConstraint::Eq(uid) | PrincipalConstraint::IsIn(_, uid) => {
                    Some(named.number(uid))
                }
            };
            named.scopes.push(scope);
            let conditions = policy.policy.to_json().map(|json| json["conditions"].clone());
            named.tell_classes_only &= conditions.is_ok_and(|conditions| named.reads_class_only(&conditions, client));
        }
        named.tell_classes_only &= !can_lead_to_callers(file, client);
        named
    }

    pub(in crate::cedar) fn scope(&self, policy: usize) -> Option<usize> {
        self.scopes.get(policy).copied().flatten()
    }

    /// Whether policies decide the same for all callers of a class. Lists only: a use has arguments too.
    pub(in crate::cedar) fn tell_classes_only(&self) -> bool {
        self.tell_classes_only
    }

    /// The class of a caller that is in these groups.
    pub(in crate::cedar) fn class(&self, caller: &EntityUid, groups: &[EntityUid], file: &Entities) -> CallerClass {
        let mut is_in = vec![false; self.numbers.len()];
        let mut mark = |uid: &EntityUid| {
            if let Some(number) = self.numbers.get(uid) {
                is_in[*number] = true;
            }
        };
        for own in std::iter::once(caller).chain(groups) {
            mark(own);
            file.ancestors(own).into_iter().flatten().for_each(&mut mark);
        }
        CallerClass(is_in.into())
    }

    fn number(&mut self, uid: EntityUid) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(uid).or_insert(next)
    }

    /// Whether an expression reads of the caller only whether it is, or is in, a principal that is named there.
    fn reads_class_only(&mut self, node: &Value, client: &str) -> bool {
        if let Some(compared) =
            node.get("in").or_else(|| node.get("==")).filter(|both| is_variable(&both["left"], "principal"))
        {
            let named = match &compared["right"] {
                Value::Object(right) if right.contains_key("Set") => {
                    right["Set"].as_array().cloned().unwrap_or_default()
                }
                right => vec![right.clone()],
            };
            let uids: Option<Vec<EntityUid>> = named.iter().map(literal).collect();
            let is_known = uids.is_some();
            for uid in uids.into_iter().flatten() {
                self.number(uid);
            }
            return is_known;
        }
        if is_variable(node, "principal") || is_variable(node, "context") {
            return false;
        }
        // The attributes of an entity of this type are those of the caller if it is the caller.
        if node.get("__entity").is_some_and(|uid| uid["type"] == client) {
            return false;
        }
        if let Some((_, name)) = attribute(node).filter(|(left, _)| is_variable(left, "context")) {
            // Equal for everybody where lists are made.
            return name == "via" || is_of_arguments(name);
        }
        match node {
            Value::Array(items) => items.iter().all(|item| self.reads_class_only(item, client)),
            Value::Object(members) => members.values().all(|member| self.reads_class_only(member, client)),
            _ => true,
        }
    }
}

/// The entity of `Group::"ops"` in the JSON form of a policy.
fn literal(node: &Value) -> Option<EntityUid> {
    EntityUid::from_json(node.get("Value")?.get("__entity")?.clone()).ok()
}

/// Whether the entities of a file say anything that is read through a caller, or lead from something else to one.
fn can_lead_to_callers(file: &Entities, client: &str) -> bool {
    let Ok(Value::Array(entities)) = file.to_json_value() else { return true };
    let is_empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
    entities.iter().any(|entity| {
        let uid = entity["uid"].get("__entity").unwrap_or(&entity["uid"]);
        uid["type"] == client || !is_empty(&entity["attrs"]) || !is_empty(&entity["tags"])
    })
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn tells_classes_only(condition: &str, file: &str) -> bool {
        let text = format!("permit(principal, action, resource) when {{ {condition} }};");
        let policies = crate::cedar::load::parse("p.cedar", &text).unwrap();
        NamedPrincipals::of(&policies, &Entities::from_json_str(file, None).unwrap(), "Client").tell_classes_only()
    }

    #[test]
    fn membership_makes_classes_and_everything_else_of_a_caller_makes_one_for_each() {
        for condition in [
            "principal in G::\"ops\"",
            "principal == Client::\"ann\" || principal in [G::\"a\", G::\"b\"]",
            "resource.name like \"*x\" && !(principal in G::\"ops\")",
            "context.via == \"\" && context has arg_x && resource in MCP::\"github\"",
            "G::\"a\" in G::\"b\"",
        ] {
            assert!(tells_classes_only(condition, "[]"), "{condition}");
        }
        for condition in [
            "principal.claim_level == \"x\"",
            "principal has claims",
            "principal in resource.owners",
            "principal in [G::\"a\", resource.owner]",
            "resource.owner == principal",
            "[principal].contains(Client::\"ann\")",
            "Client::\"ann\".local",
            "Client::\"ann\" in G::\"a\"",
            "context.claim_sub == \"ann\"",
            "context.scopes.contains(\"x\")",
            "context.client.name == \"x\"",
            "context == {}",
            "if principal.local then true else false",
            "{who: principal} == {who: 1}",
        ] {
            assert!(!tells_classes_only(condition, "[]"), "{condition}");
        }
    }

    #[test]
    fn an_entity_file_that_can_lead_to_a_caller_makes_no_classes() {
        let group = r#"[{"uid": {"type": "G", "id": "a"}, "attrs": {}, "parents": [{"type": "G", "id": "b"}]}]"#;
        assert!(tells_classes_only("principal in G::\"b\"", group));
        for file in [
            r#"[{"uid": {"type": "Client", "id": "ann"}, "attrs": {}, "parents": []}]"#,
            r#"[{"uid": {"type": "Tool", "id": "x"}, "attrs": {"owner": {"__entity": {"type": "Client", "id": "ann"}}}, "parents": []}]"#,
        ] {
            assert!(!tells_classes_only("principal in G::\"b\"", file), "{file}");
        }
    }

    #[test]
    fn a_caller_is_in_what_its_groups_are_in() {
        let policies = "permit(principal in G::\"top\", action, resource); permit(principal == Client::\"ann\", action, resource); permit(principal in G::\"other\", action, resource);";
        let file = r#"[{"uid": {"type": "G", "id": "a"}, "attrs": {}, "parents": [{"type": "G", "id": "top"}]}]"#;
        let file = Entities::from_json_str(file, None).unwrap();
        let policies = crate::cedar::load::parse("p.cedar", policies).unwrap();
        let named = NamedPrincipals::of(&policies, &file, "Client");
        let uid = |text: &str| EntityUid::from_str(text).unwrap();
        let class = |client: &str, groups: &[EntityUid]| {
            let class = named.class(&uid(&format!("Client::\"{client}\"")), groups, &file);
            (0..3).map(|policy| class.fits(named.scope(policy))).collect::<Vec<_>>()
        };
        assert_eq!(class("ann", &[]), [false, true, false]);
        assert_eq!(class("bob", &[uid("G::\"a\"")]), [true, false, false]);
        assert_eq!(class("bob", &[uid("G::\"top\""), uid("G::\"other\"")]), [true, false, true]);
    }
}
