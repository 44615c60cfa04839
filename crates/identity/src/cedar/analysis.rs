//! Static analysis of policies at load time: which parts of a request they read.

use cedar_policy::Policy;
use serde_json::Value;

/// What the conditions of a policy depend on beside the caller and the item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) arguments: bool,
    pub(super) via: bool,
    pub(super) client: bool,
}

impl Reads {
    /// Everything: what is assumed of a policy that cannot be analysed.
    const ALL: Self = Reads { arguments: true, via: true, client: true };

    pub(super) fn union(self, other: Self) -> Self {
        Reads {
            arguments: self.arguments || other.arguments,
            via: self.via || other.via,
            client: self.client || other.client,
        }
    }

    pub(super) fn of(policy: &Policy) -> Self {
        let Ok(json) = policy.to_json() else { return Reads::ALL };
        let mut reads = Reads::default();
        visit(&json["conditions"], &mut |node| reads = reads.union(Reads::by(node)));
        reads
    }

    fn by(node: &Value) -> Self {
        if let Some((left, attribute)) = attribute(node) {
            let arguments =
                is_of_arguments(attribute) && (is_variable(left, "context") || is_variable(left, "resource"));
            let of_context = |name: &str| is_variable(left, "context") && attribute == name;
            return Reads { arguments, via: of_context("via"), client: of_context("client") };
        }
        // The context as a whole, such as in `context == ...`.
        let uses_whole = |member: &Value| is_variable(member, "context");
        let is_whole = match node {
            Value::Array(items) => items.iter().any(uses_whole),
            Value::Object(members) => members.values().any(uses_whole),
            _ => false,
        };
        if is_whole { Reads::ALL } else { Reads::default() }
    }
}

/// Whether an attribute of `context` or `resource` is made from arguments.
pub(super) fn is_of_arguments(attribute: &str) -> bool {
    attribute == "arguments" || attribute.starts_with("arg_")
}

/// The two sides of `left.attribute` and `left has attribute`.
pub(super) fn attribute(node: &Value) -> Option<(&Value, &str)> {
    let access = node.get(".").or_else(|| node.get("has"))?;
    Some((access.get("left")?, access.get("attr")?.as_str()?))
}

pub(super) fn is_variable(node: &Value, name: &str) -> bool {
    node.get("Var").and_then(Value::as_str) == Some(name)
}

/// Visits every expression of a policy in the JSON form. The operands of an attribute are visited only below it, so that the
/// variable in `context.via` is not seen by itself.
pub(super) fn visit<'a>(node: &'a Value, seen: &mut dyn FnMut(&'a Value)) {
    seen(node);
    if let Some((left, _)) = attribute(node) {
        if left.get("Var").is_none() {
            visit(left, seen);
        }
        return;
    }
    match node {
        Value::Array(items) => items.iter().for_each(|item| visit(item, seen)),
        Value::Object(members) => members.values().for_each(|member| visit(member, seen)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(condition: &str) -> Reads {
        Reads::of(&Policy::parse(None, format!("permit(principal, action, resource) when {{ {condition} }};")).unwrap())
    }

    #[test]
    fn what_a_condition_depends_on_is_known() {
        let arguments = Reads { arguments: true, ..Reads::default() };
        for condition in [
            "context.arg_a == 1",
            "resource has arg_a",
            "context.arguments.a.b like \"x*\"",
            "[context.arg_a].contains(1)",
        ] {
            assert_eq!(reads(condition), arguments, "{condition}");
        }
        assert_eq!(reads("context.via == \"x\""), Reads { via: true, ..Reads::default() });
        assert_eq!(reads("context.client.name == \"x\""), Reads { client: true, ..Reads::default() });
        assert_eq!(reads("principal.claim_arg_x == 1 && resource.readOnlyHint"), Reads::default());
        assert_eq!(reads("context == {}"), Reads::ALL);
        assert_eq!(reads("[context].contains({})"), Reads::ALL);
    }
}
