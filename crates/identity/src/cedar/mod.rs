//! Cedar policies: who may use which tool, prompt, resource or method. The only module that names the crate.
//!
//! [`Policies`] is one immutable version of the policy and entity files. [`CurrentPolicies`] holds the newest one.

mod access;
mod action;
mod analysis;
mod current;
mod entities;
mod error_log;
mod lint;
mod load;
mod policies;
mod scope;
mod stack;
mod values;

#[cfg(test)]
mod differential_tests;
#[cfg(test)]
mod docs_tests;
#[cfg(test)]
mod tests;

pub use access::{AccessCaller, AccessItem, AccessRequest, Decision, Listed};
pub use action::PolicyAction;
pub use current::CurrentPolicies;
pub use lint::{KnownItem, lint};
pub use policies::Policies;
