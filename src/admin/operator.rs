//! A user who calls what the proxy publishes, through the same path as client calls.

use std::sync::Arc;

use proxy_engine::calls::{ItemCall, PolicyNow, RecordedRequest, RequestContext, RequestOrigin};
use proxy_engine::gateway::Gateway;
use proxy_engine::surface::Surface;
use proxy_json::{Object, Raw, raw};
use proxy_mcp_client::{CallError, Cancellation, Peer};
use proxy_model::{CallPeer, CallSource, ItemKind, Principal};
use proxy_wire::key;

/// A user of one surface's items.
#[derive(Clone)]
pub struct Operator {
    pub gateway: Arc<Gateway>,
    pub surface: Arc<Surface>,
    pub principal: Principal,
    /// Receives progress and elicitations. `None` if there is nobody to notify or ask.
    pub peer: Option<Arc<dyn Peer>>,
    /// The source of the calls, as named in the audit log.
    pub source: CallSource,
    /// The user id of the process that makes the calls.
    pub uid: Option<u32>,
}

/// Why an item could not be used.
#[derive(Debug)]
pub enum UseError {
    /// No item of that name is published.
    Unknown,
    Failed(String),
}

/// The params with the name or URI of the item, so that policies decide about the right item, and without members that
/// belong to an MCP session, because the server gets the params as they are.
fn own_params(kind: ItemKind, item: &str, params: &Raw) -> Result<Raw, UseError> {
    let params = Object::of(params).map_err(|error| UseError::Failed(format!("invalid params: {error}")))?;
    let mut own = params.edit();
    own.set(kind.use_member(), &raw(item));
    for member in [key::META, "task", "requestState", "inputResponses"] {
        own.remove(member);
    }
    Ok(own.finish_raw())
}

/// Cancels a call that nobody is waiting for any more.
struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel(None);
    }
}

impl Operator {
    /// Calls a tool, reads a resource or gets a prompt. Dropping the future cancels the call.
    pub async fn use_item(&self, kind: ItemKind, key: &str, params: Raw) -> Result<Raw, UseError> {
        let current = self.gateway.watch();
        let policy = PolicyNow::new(move || current.borrow().surface.as_ref().map(|now| Arc::clone(now.policy())));
        let (calls, local) = (self.gateway.calls(), Arc::default());
        let params = own_params(kind, key, &params)?;
        let origin = RequestOrigin {
            method: kind.use_method(),
            id: None,
            revision: None,
            params: Some(&params),
            principal: &self.principal,
            client: &local,
            source: self.source,
            session: None,
            peer: self.uid.map(CallPeer::User),
            ambient: None,
        };
        let recorded = RecordedRequest::begin(calls.dispatcher.telemetry(), origin);
        let request = RequestContext {
            policy: Some(policy),
            scope_rules: self.gateway.scope_rules(),
            recording: Some(Arc::clone(recorded.recording())),
            ..RequestContext::local(self.principal.clone(), Arc::clone(&self.surface), self.peer.clone())
        };
        request.record_item(kind, key);
        let _cancel = CancelOnDrop(request.cancel.clone());
        let call = ItemCall::new(&self.surface, kind, key, Raw::clone(&params));
        let outcome = calls.item(&request, call).await;
        recorded.end_call(&outcome);
        outcome.map_err(|error| match error {
            CallError::Rejected(error) => UseError::Failed(error.message()),
            // A policy denies it, and a denied item looks like one that does not exist.
            CallError::Unknown => UseError::Unknown,
            CallError::Cancelled | CallError::Asks(_) => {
                let verb = if kind == ItemKind::Tool { "called" } else { "read" };
                UseError::Failed(format!("`{key}` was not {verb}"))
            }
            error => UseError::Failed(error.to_string()),
        })
    }
}
