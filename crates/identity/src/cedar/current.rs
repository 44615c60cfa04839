//! The policies in force.

use std::sync::Arc;

use tokio::sync::watch;

use super::policies::Policies;

/// Holds the newest policies. Clones share them. `None` if there are no policies, so that everything is allowed.
#[derive(Clone, Debug)]
pub struct CurrentPolicies(Arc<watch::Sender<Option<Arc<Policies>>>>);

impl Default for CurrentPolicies {
    fn default() -> Self {
        CurrentPolicies(Arc::new(watch::channel(None).0))
    }
}

impl CurrentPolicies {
    pub fn get(&self) -> Option<Arc<Policies>> {
        self.0.borrow().clone()
    }

    /// The number of the policies in force.
    pub fn number(&self) -> Option<u64> {
        self.0.borrow().as_ref().map(|policies| policies.number())
    }

    /// Puts policies in force. Equal files keep the policies that are in force.
    pub fn set(&self, policies: Option<Arc<Policies>>) {
        self.0.send_if_modified(|current| {
            let is_same = match (&*current, &policies) {
                (Some(current), Some(policies)) => current.is_same_as(policies),
                (None, None) => true,
                _ => false,
            };
            if !is_same {
                *current = policies;
            }
            !is_same
        });
    }

    /// Notices every change.
    pub fn subscribe(&self) -> watch::Receiver<Option<Arc<Policies>>> {
        self.0.subscribe()
    }
}
