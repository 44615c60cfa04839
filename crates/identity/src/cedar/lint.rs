//! Policy lints for `proxy check`: policies that probably do not do what they say. There is no Cedar schema, because tools and
//! their arguments come and go.

use std::collections::{BTreeSet, HashSet};

use cedar_policy::{EntityUid, PrincipalConstraint, ResourceConstraint};
use serde_json::Value;

use super::action::PolicyAction;
use super::analysis::{attribute, is_of_arguments, is_variable, visit};
use super::load::LoadedPolicy;
use super::policies::Policies;
use super::scope::named_resource;
use proxy_base::diagnostic::{Diagnostic, nearest};

/// ToolHive's actions for lists. Here lists are always answered, with what the caller may use.
const LIST_ACTIONS: [&str; 3] = ["list_tools", "list_prompts", "list_resources"];
const COMPARISONS: [&str; 4] = ["<", "<=", ">", ">="];
/// Claims that are sets.
const SET_CLAIMS: [&str; 3] = ["claim_groups", "claim_roles", "scopes"];

/// An item that policies can name.
#[derive(Clone, Debug)]
pub struct KnownItem {
    pub action: PolicyAction,
    pub id: String,
    /// The names of its arguments; `None` if it accepts others too.
    pub arguments: Option<Vec<String>>,
}

/// Warnings about the policies. `items` is everything that is published, searchable or on a server.
pub fn lint(policies: &Policies, items: &[KnownItem], has_unknown_items: bool) -> Vec<Diagnostic> {
    let linter = Linter { known_types: policies.known_types(), items, has_unknown_items };
    policies.policies.iter().flat_map(|policy| linter.policy(policy)).collect()
}

struct Linter<'a> {
    known_types: BTreeSet<String>,
    items: &'a [KnownItem],
    /// Whether there may be items that nobody has seen yet: those of a server that was never started.
    has_unknown_items: bool,
}

impl Linter<'_> {
    fn policy(&self, policy: &LoadedPolicy) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        let literals: HashSet<EntityUid> = policy.policy.entity_literals().into_iter().collect();
        let mut literals: Vec<&EntityUid> = literals.iter().collect();
        literals.sort_by_key(|literal| literal.to_string());
        found.extend(literals.into_iter().filter_map(|literal| self.literal(literal)));
        found.extend(never_applies(policy));
        if let Ok(json) = policy.policy.to_json() {
            let conditions = &json["conditions"];
            found.extend(self.unknown_arguments(policy, conditions));
            found.extend(confused_types(conditions));
            found.extend(hidden_argument(policy, conditions));
        }
        found.into_iter().map(|warning| warning.at(policy.place.clone())).collect()
    }

    fn literal(&self, literal: &EntityUid) -> Option<Diagnostic> {
        let (of, id) = (literal.type_name().to_string(), literal.id().unescaped());
        if !self.known_types.contains(&of) {
            let warning = Diagnostic::warning(format!("there are no entities of type `{of}`: `{literal}`"));
            let known = self.known_types.iter().map(String::as_str);
            return Some(match nearest(&of, known) {
                Some(near) => warning.hint(format!("did you mean `{near}`?")),
                None => warning.hint(format!("the types are {}", listed(self.known_types.iter()))),
            });
        }
        if of == "Action" {
            return unknown_action(id);
        }
        let action = PolicyAction::ALL.into_iter().find(|action| action.entity_type() == of)?;
        // Any method and any URI that a result links to can be asked for.
        if !matches!(action, PolicyAction::CallTool | PolicyAction::GetPrompt) {
            return None;
        }
        let mut ids = self.items.iter().filter(|item| item.action == action).map(|item| item.id.as_str());
        if self.has_unknown_items || ids.clone().any(|known| known == id) {
            return None;
        }
        let warning = Diagnostic::warning(format!("nothing is published as `{literal}`"));
        Some(match nearest(id, &mut ids) {
            Some(near) => warning.hint(format!("did you mean `{of}::\"{near}\"`?")),
            None => warning.hint(
                "policies name items as clients see them; a tool that is not published is `Tool::\"server/name\"`",
            ),
        })
    }

    /// Arguments that the tool in the scope does not have.
    fn unknown_arguments(&self, policy: &LoadedPolicy, conditions: &Value) -> Vec<Diagnostic> {
        let Some(named) = named_resource(policy) else { return Vec::new() };
        let of = named.type_name().to_string();
        let is_named = |item: &&KnownItem| item.action.entity_type() == of && item.id == named.id().unescaped();
        let Some(arguments) = self.items.iter().find(is_named).and_then(|item| item.arguments.as_ref()) else {
            return Vec::new();
        };
        let mut read = BTreeSet::new();
        visit(conditions, &mut |node| {
            if let Some((left, name)) = attribute(node) {
                let is_record = attribute(left).is_some_and(|(_, of)| of == "arguments");
                let argument = if is_record { Some(name) } else { name.strip_prefix("arg_") };
                read.extend(argument.filter(|_| is_record || left.get("Var").is_some()));
            }
        });
        let unknown = read.into_iter().filter(|name| {
            let plain = name.strip_suffix("_present").unwrap_or(name);
            !arguments.iter().any(|known| known == name || known == plain)
        });
        let warning = |name: &str| {
            let warning = Diagnostic::warning(format!("`{named}` has no argument `{name}`"));
            match nearest(name, arguments.iter().map(String::as_str)) {
                Some(near) => warning.hint(format!("did you mean `{near}`?")),
                None => warning.hint(format!("its arguments are {}", listed(arguments.iter()))),
            }
        };
        unknown.map(warning).collect()
    }
}

fn unknown_action(id: &str) -> Option<Diagnostic> {
    if LIST_ACTIONS.contains(&id) {
        let warning = Diagnostic::warning(format!("`Action::\"{id}\"` has no effect"));
        return Some(warning.hint("lists are always allowed, and contain what the caller may use"));
    }
    let mut known = PolicyAction::ALL.iter().map(|action| action.id());
    if known.clone().any(|known| known == id) {
        return None;
    }
    let warning = Diagnostic::warning(format!("there is no `Action::\"{id}\"`"));
    Some(match nearest(id, &mut known) {
        Some(near) => warning.hint(format!("did you mean `Action::\"{near}\"`?")),
        None => warning.hint("the actions are `call_tool`, `get_prompt`, `read_resource` and `call_method`"),
    })
}

/// A scope that no request can match.
fn never_applies(policy: &LoadedPolicy) -> Option<Diagnostic> {
    let never = |why: String| Some(Diagnostic::warning(format!("this policy never applies: {why}")));
    let principal = match policy.policy.principal_constraint() {
        PrincipalConstraint::Eq(named) => Some(named.type_name().to_string()),
        PrincipalConstraint::Is(of) | PrincipalConstraint::IsIn(of, _) => Some(of.to_string()),
        PrincipalConstraint::Any | PrincipalConstraint::In(_) => None,
    };
    if let Some(of) = principal.filter(|of| of != "Client") {
        return never(format!("a principal is always a `Client`, not a `{of}`; for a group write `principal in`"));
    }
    let resource = match policy.policy.resource_constraint() {
        ResourceConstraint::Eq(named) => named.type_name().to_string(),
        ResourceConstraint::Is(of) | ResourceConstraint::IsIn(of, _) => of.to_string(),
        ResourceConstraint::Any | ResourceConstraint::In(_) => return None,
    };
    if resource == "MCP" {
        return never(
            "the resource is a tool, prompt or resource; for all items of a server write `resource in`".to_owned(),
        );
    }
    let cedar_policy::ActionConstraint::Eq(action) = policy.policy.action_constraint() else { return None };
    let action = PolicyAction::ALL.into_iter().find(|known| known.id() == action.id().unescaped())?;
    if action.entity_type() == resource {
        return None;
    }
    never(format!("`Action::\"{}\"` is about a `{}`, not a `{resource}`", action.id(), action.entity_type()))
}

/// Comparisons that fail on the types of values.
fn confused_types(conditions: &Value) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    visit(conditions, &mut |node| {
        for operator in COMPARISONS {
            let Some(comparison) = node.get(operator) else { continue };
            let sides = [comparison.get("left"), comparison.get("right")];
            let name = sides.into_iter().flatten().filter_map(attribute).map(|(_, name)| name);
            if let Some(name) = name.into_iter().find(|name| name.starts_with("arg_") || name.starts_with("claim_")) {
                let (method, record) = match operator {
                    "<" => ("lessThan", name),
                    "<=" => ("lessThanOrEqual", name),
                    ">" => ("greaterThan", name),
                    _ => ("greaterThanOrEqual", name),
                };
                let better = match record.split_once('_') {
                    Some(("arg", name)) => format!("context.arguments.{name}"),
                    Some((_, name)) => format!("principal.claims.{name}"),
                    None => record.to_owned(),
                };
                let warning = Diagnostic::warning(format!(
                    "`{name}` is a decimal, which `{operator}` cannot compare: this fails"
                ));
                found.push(warning.hint(format!(
                    "write `{better}`, whose integers can be compared, or `.{method}(decimal(\"...\"))`"
                )));
            }
        }
        if let Some((_, name)) = node.get("like").and_then(|like| attribute(like.get("left")?))
            && SET_CLAIMS.contains(&name)
        {
            let warning = Diagnostic::warning(format!("`{name}` is a set, and `like` compares texts: this fails"));
            found.push(warning.hint("write `.contains(\"...\")`"));
        }
    });
    found
}

/// A `permit` whose item is not listed, because it asks for the presence of an argument first.
fn hidden_argument(policy: &LoadedPolicy, conditions: &Value) -> Option<Diagnostic> {
    let mut guarded = None;
    visit(conditions, &mut |node| {
        if let Some(guard) = node.get("has")
            && let Some(name) = guard.get("attr").and_then(Value::as_str)
            && let Some(left) = guard.get("left")
        {
            // `context.arguments has NAME` reads the arguments, which lists do not have: such an item is listed.
            if is_of_arguments(name) && (is_variable(left, "context") || is_variable(left, "resource")) {
                guarded.get_or_insert(name);
            }
        }
    });
    let name = guarded.filter(|_| !policy.is_forbid())?;
    let warning = Diagnostic::warning(format!("this `permit` never lists its items: it checks `has {name}` first"));
    Some(warning.hint("lists have no arguments, so `has` is false; read the argument without it: a `permit` that fails permits nothing"))
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
