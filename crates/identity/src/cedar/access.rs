//! The request and the decision of a policy evaluation.

use std::sync::Arc;

use super::action::PolicyAction;
use proxy_json::RawRef;
use proxy_model::{ClientInfo, Definition, Principal};

/// The caller.
#[derive(Clone, Copy, Debug)]
pub struct AccessCaller<'a> {
    pub principal: &'a Principal,
    pub client: &'a ClientInfo,
}

/// The item to be used.
#[derive(Clone, Copy, Debug)]
pub struct AccessItem<'a> {
    pub action: PolicyAction,
    /// The published name or URI; `server/name` for an item that is not published; the method.
    pub id: &'a str,
    /// Empty if the script made the item.
    pub server: &'a str,
    /// The name or URI that the server uses. Empty if the script made the item.
    pub original: &'a str,
    /// The item as published. Its annotations and its title are attributes.
    pub definition: Option<&'a Definition>,
}

/// One use of one item.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequest<'a> {
    pub caller: AccessCaller<'a>,
    pub item: AccessItem<'a>,
    /// An object. `None` stands for an empty one.
    pub arguments: Option<&'a RawRef>,
    /// The published name that the client used, if it is another item: that of a handler which calls this one.
    pub via: &'a str,
}

/// The answer to an [`AccessRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allowed {
        /// The ids of the policies that permitted it.
        policies: Vec<Arc<str>>,
    },
    Denied {
        /// The ids of the policies that forbade it. Empty if none permitted it.
        policies: Vec<Arc<str>>,
        /// The `@message` of the policy that forbade it.
        message: Option<Arc<str>>,
    },
}

impl Decision {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allowed { .. })
    }

    pub fn policies(&self) -> &[Arc<str>] {
        match self {
            Decision::Allowed { policies } | Decision::Denied { policies, .. } => policies,
        }
    }
}

/// Whether an item is listed for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    No,
    /// The item can be used with some arguments. The policies must be asked about each use.
    DependsOnArguments,
    /// The item can be used with any arguments.
    Yes,
}

impl Listed {
    pub fn is_listed(self) -> bool {
        self != Listed::No
    }
}
