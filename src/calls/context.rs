//! What is known about one client request while it is being worked on.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::backend::Peer;
use crate::json::Raw;
use crate::model::{ClientInfo, ItemKind, Owner, Principal};
use crate::script::JournalSnapshot;
use crate::surface::Surface;
use crate::wire::Revision;

/// One client request: who makes it, what they see, and how they are reached. It is made once, where the request comes
/// in, and passed by reference to everything that works on the request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    pub principal: Principal,
    /// What the client says about itself.
    pub client: Arc<ClientInfo>,
    /// The client's protocol revision; none for calls that no protocol carries, such as `proxy call`.
    pub revision: Option<Revision>,
    /// Whether the client repeats its request with `inputResponses` when it is asked something.
    pub retries_with_input: bool,
    /// The request headers that the config lets scripts see.
    pub headers: Arc<[(String, String)]>,
    /// The published items, taken once: a reload in the middle of the request does not change them.
    pub surface: Arc<Surface>,
    /// Receives progress, log messages and questions; none where there is no client to notify or ask.
    pub peer: Option<Arc<dyn Peer>>,
    pub cancel: CancellationToken,
    /// Looks up the session script in force, which may change while a person is being asked; none where it cannot change.
    pub policy: Option<PolicyNow>,
}

impl RequestContext {
    /// A request that the operator makes in this process: from the command line, a prompt or a test.
    pub fn local(principal: Principal, surface: Arc<Surface>, peer: Option<Arc<dyn Peer>>) -> Self {
        RequestContext {
            principal,
            client: Arc::default(),
            revision: None,
            retries_with_input: false,
            headers: Arc::default(),
            surface,
            peer,
            cancel: CancellationToken::new(),
            policy: None,
        }
    }

    /// To whom the call belongs; none for calls that the operator makes from the command line.
    pub fn owner(&self) -> Option<&Owner> {
        self.peer.as_ref().map(|peer| peer.owner())
    }

    /// Whether the client's revision allows `structuredContent` to be an object only.
    pub fn structured_objects_only(&self) -> bool {
        self.revision.is_some_and(|revision| !revision.is_stateless())
    }
}

/// A tool called, a resource read or a prompt requested.
#[derive(Clone, Debug)]
pub struct ItemCall {
    pub kind: ItemKind,
    /// The published name or URI.
    pub key: String,
    /// As the client sent them, without reserved `_meta` keys.
    pub params: Raw,
    /// The server of a resource that is not published itself: the client has its URI from a link.
    pub unlisted_on: Option<Arc<str>>,
    /// Whether the client accepts a task in place of the result.
    pub accepts_task: bool,
    /// Whether `on_request` has admitted this call already: it continues after a question of its server.
    pub admitted: bool,
    /// What the handler did before it asked, with the answers.
    pub journal: Option<JournalSnapshot>,
}

impl ItemCall {
    pub fn new(kind: ItemKind, key: &str, params: Raw) -> Self {
        ItemCall {
            kind,
            key: key.to_owned(),
            params,
            unlisted_on: None,
            accepts_task: false,
            admitted: false,
            journal: None,
        }
    }
}

/// Looks up the digest of the session script that is in force; none if there is none any more.
#[derive(Clone)]
pub struct PolicyNow(Arc<dyn Fn() -> Option<Arc<str>> + Send + Sync>);

impl PolicyNow {
    pub fn new(look_up: impl Fn() -> Option<Arc<str>> + Send + Sync + 'static) -> Self {
        PolicyNow(Arc::new(look_up))
    }

    pub(super) fn is(&self, policy: &Arc<str>) -> bool {
        (self.0)().is_some_and(|now| now == *policy)
    }
}

impl std::fmt::Debug for PolicyNow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PolicyNow")
    }
}
