//! The policies that can apply to one item, by the action and resource that their scopes name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{ActionConstraint, EntityUid, PolicySet, ResourceConstraint};
use parking_lot::Mutex;

use super::action::PolicyAction;
use super::analysis::Reads;
use super::load::LoadedPolicy;

/// Policies that can apply to an item.
#[derive(Debug)]
pub(super) struct ScopedPolicies {
    pub(super) set: PolicySet,
    /// What any of them reads.
    pub(super) reads: Reads,
    /// The policies that forbid and read arguments.
    pub(super) forbids_on_arguments: Vec<Arc<str>>,
}

/// An action, and the item if the scope of a policy names it.
type ScopeKey = (PolicyAction, Option<EntityUid>);

/// Makes [`ScopedPolicies`] when they are first needed.
#[derive(Debug)]
pub(super) struct ScopeCache {
    /// The items that the scope of a policy names.
    named: HashSet<EntityUid>,
    made: Mutex<HashMap<ScopeKey, Arc<ScopedPolicies>>>,
}

impl ScopeCache {
    pub(super) fn new(policies: &[LoadedPolicy]) -> Self {
        ScopeCache { named: policies.iter().filter_map(named_resource).collect(), made: Mutex::default() }
    }

    pub(super) fn of(
        &self,
        action: PolicyAction,
        action_uid: &EntityUid,
        item: &EntityUid,
        policies: &[LoadedPolicy],
    ) -> Arc<ScopedPolicies> {
        // Items that no scope names share one set.
        let key = (action, self.named.get(item).cloned());
        if let Some(known) = self.made.lock().get(&key) {
            return Arc::clone(known);
        }
        let applies = |policy: &&LoadedPolicy| {
            covers(&policy.policy.action_constraint(), action_uid)
                && named_resource(policy).is_none_or(|named| named == *item)
        };
        let made = Arc::new(scoped(policies.iter().filter(applies)));
        self.made.lock().insert(key, Arc::clone(&made));
        made
    }
}

fn scoped<'a>(policies: impl Iterator<Item = &'a LoadedPolicy>) -> ScopedPolicies {
    let mut made = ScopedPolicies { set: PolicySet::new(), reads: Reads::default(), forbids_on_arguments: Vec::new() };
    for policy in policies {
        // Ids are unique, and templates are refused when files are loaded.
        let _ = made.set.add(policy.policy.clone());
        made.reads = made.reads.and(policy.reads);
        if policy.is_forbid() && policy.reads.arguments {
            made.forbids_on_arguments.push(Arc::clone(&policy.id));
        }
    }
    made
}

/// The resource in `resource == Tool::"search"`.
pub(super) fn named_resource(policy: &LoadedPolicy) -> Option<EntityUid> {
    match policy.policy.resource_constraint() {
        ResourceConstraint::Eq(named) => Some(named),
        _ => None,
    }
}

/// Whether the scope of a policy allows an action. `in` may name groups of actions of the entity file, so it is left to Cedar.
fn covers(constraint: &ActionConstraint, action: &EntityUid) -> bool {
    match constraint {
        ActionConstraint::Any | ActionConstraint::In(_) => true,
        ActionConstraint::Eq(named) => named == action,
    }
}
