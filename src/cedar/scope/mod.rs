//! Which policies can apply to a caller and an item, and which callers they do not tell apart.

mod caller_class;
mod list_cache;
mod scoped;

pub(super) use caller_class::{CallerClass, NamedPrincipals};
pub(super) use list_cache::ListCache;
pub(super) use scoped::{ScopeCache, ScopedPolicies, named_resource};
