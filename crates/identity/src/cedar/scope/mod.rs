//! Which policies can apply to a caller and an item, and which callers they do not tell apart. The scope of a policy is its
//! head, which names principal, action and resource; it is no scope of OAuth.

mod caller_class;
mod list_cache;
mod scoped;

pub(super) use caller_class::{CallerClass, NamedPrincipals};
pub(super) use list_cache::ListCache;
pub(super) use scoped::{ScopeCache, ScopedPolicies, named_resource};
