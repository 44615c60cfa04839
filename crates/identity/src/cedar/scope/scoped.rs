//! The policies that can apply to a caller and an item, by the principal, action and resource that their scopes name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{ActionConstraint, EntityUid, PolicySet, ResourceConstraint};
use parking_lot::Mutex;

use super::caller_class::{CallerClass, NamedPrincipals};
use crate::cedar::action::PolicyAction;
use crate::cedar::analysis::Reads;
use crate::cedar::load::LoadedPolicy;

/// Above so many sets, all are made again.
const MAX_SETS: usize = 2_000;

/// Policies that can apply to an item.
#[derive(Debug)]
pub(in crate::cedar) struct ScopedPolicies {
    pub(in crate::cedar) set: PolicySet,
    /// What any of them reads.
    pub(in crate::cedar) reads: Reads,
    /// The policies that forbid and read arguments.
    pub(in crate::cedar) forbids_on_arguments: Vec<Arc<str>>,
}

/// An action, the item if the scope of a policy names it, and the class of the caller.
type ScopeKey = (PolicyAction, Option<EntityUid>, CallerClass);

/// Makes [`ScopedPolicies`] when they are first needed.
#[derive(Debug)]
pub(in crate::cedar) struct ScopeCache {
    /// The items that the scope of a policy names.
    named: HashSet<EntityUid>,
    made: Mutex<HashMap<ScopeKey, Arc<ScopedPolicies>>>,
}

impl ScopeCache {
    pub(in crate::cedar) fn new(policies: &[LoadedPolicy]) -> Self {
        ScopeCache { named: policies.iter().filter_map(named_resource).collect(), made: Mutex::default() }
    }

    pub(in crate::cedar) fn of(
        &self,
        action: PolicyAction,
        action_uid: &EntityUid,
        item: &EntityUid,
        class: &CallerClass,
        principals: &NamedPrincipals,
        policies: &[LoadedPolicy],
    ) -> Arc<ScopedPolicies> {
        // Items that no scope names share one set.
        let key = (action, self.named.get(item).cloned(), class.clone());
        if let Some(known) = self.made.lock().get(&key) {
            return Arc::clone(known);
        }
        let applies = |(number, policy): &(usize, &LoadedPolicy)| {
            class.fits(principals.scope(*number))
                && covers(&policy.policy.action_constraint(), action_uid)
                && named_resource(policy).is_none_or(|named| named == *item)
        };
        let applying = policies.iter().enumerate().filter(applies).map(|(_, policy)| policy);
        let made = Arc::new(scoped(applying));
        let mut all = self.made.lock();
        if all.len() >= MAX_SETS {
            all.clear();
        }
        all.insert(key, Arc::clone(&made));
        made
    }
}

fn scoped<'a>(policies: impl Iterator<Item = &'a LoadedPolicy>) -> ScopedPolicies {
    let mut made = ScopedPolicies { set: PolicySet::new(), reads: Reads::default(), forbids_on_arguments: Vec::new() };
    for policy in policies {
        // Ids are unique, and templates are refused when files are loaded.
        let _ = made.set.add(policy.policy.clone());
        made.reads = made.reads.union(policy.reads);
        if policy.is_forbid() && policy.reads.arguments {
            made.forbids_on_arguments.push(Arc::clone(&policy.id));
        }
    }
    made
}

/// The resource in `resource == Tool::"search"`.
pub(in crate::cedar) fn named_resource(policy: &LoadedPolicy) -> Option<EntityUid> {
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
