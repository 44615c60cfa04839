//! What policies say about a request: once when a published item is used, and once more for whatever is dispatched to a
//! server. Nothing is dispatched without a [`Permit`], and only this file makes them.

use std::sync::Arc;

use super::call::Calls;
use super::context::{ItemCall, RequestContext};
use super::handler_run::failed;
use crate::backend::CallError;
use crate::cedar::{AccessCaller, AccessItem, AccessRequest, CurrentPolicies, Decision, Policies, PolicyAction};
use crate::json::{Object, Raw, RawRef, check_unique_keys};
use crate::model::{ClientInfo, ItemKind, ItemRef, Principal, RefusalReason, SurfaceKey};
use crate::surface::{PublishedItem, Surface};
use crate::telemetry::CallRecording;

/// Proof that the policies of this number allow what is dispatched to a server, or that there are none.
#[derive(Debug)]
pub struct Permit(Option<u64>);

impl Permit {
    /// Whether it was given by the policies in force. Those may have changed while the call waited.
    pub(super) fn is_current(&self, policies: &CurrentPolicies) -> bool {
        self.0 == policies.get().map(|policies| policies.number())
    }

    /// The number of the policies that gave it.
    pub(super) fn number(&self) -> Option<u64> {
        self.0
    }
}

/// Why something must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AccessRefusal {
    /// The caller must not know that there is such an item.
    Unknown,
    /// The caller may use it with other arguments. The text is for the caller.
    Arguments(String),
}

/// Who asks, what is noted of the request, and the policies to ask.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) policies: &'a CurrentPolicies,
    pub(super) principal: &'a Principal,
    pub(super) client: &'a ClientInfo,
    pub(super) recording: Option<&'a CallRecording>,
}

impl<'a> Asking<'a> {
    fn caller(&self) -> AccessCaller<'a> {
        AccessCaller { principal: self.principal, client: self.client }
    }

    /// Asks about one use. `arguments` is an object.
    pub(super) fn ask(
        &self,
        item: AccessItem<'_>,
        arguments: Option<&RawRef>,
        via: &str,
    ) -> Result<Permit, AccessRefusal> {
        match self.policies.get() {
            Some(policies) => self.ask_of(&policies, item, arguments, via),
            None => Ok(Permit(None)),
        }
    }

    fn ask_of(
        &self,
        policies: &Policies,
        item: AccessItem<'_>,
        arguments: Option<&RawRef>,
        via: &str,
    ) -> Result<Permit, AccessRefusal> {
        let caller = self.caller();
        match policies.decide(&AccessRequest { caller, item, arguments, via }) {
            Decision::Allowed { .. } => Ok(Permit(Some(policies.number()))),
            Decision::Denied { policies: ids, message } => {
                self.note(&item, via, &ids);
                let is_listed = policies.list(caller, &[item]).first().is_some_and(|listed| listed.is_listed());
                Err(match (is_listed, message) {
                    (false, _) => AccessRefusal::Unknown,
                    (true, None) => AccessRefusal::Arguments(not_with_these(item.id)),
                    (true, Some(message)) => {
                        AccessRefusal::Arguments(format!("{}: {message}", not_with_these(item.id)))
                    }
                })
            }
        }
    }

    /// Asks whether an item may be used at all, for requests about it that have no arguments of their own.
    pub(super) fn ask_listed(&self, item: AccessItem<'_>) -> Result<Permit, AccessRefusal> {
        let Some(policies) = self.policies.get() else { return Ok(Permit(None)) };
        if policies.list(self.caller(), &[item]).first().is_some_and(|listed| listed.is_listed()) {
            return Ok(Permit(Some(policies.number())));
        }
        self.note(&item, "", &self.forbidding(&policies, item));
        Err(AccessRefusal::Unknown)
    }

    /// The policies that forbid an item without arguments.
    fn forbidding(&self, policies: &Policies, item: AccessItem<'_>) -> Vec<Arc<str>> {
        let request = AccessRequest { caller: self.caller(), item, arguments: None, via: "" };
        policies.decide(&request).policies().to_vec()
    }

    /// Notes a refusal in the record of the request and in the log. Values of arguments are in neither.
    fn note(&self, item: &AccessItem<'_>, via: &str, policies: &[Arc<str>]) {
        let (user, action) = (self.principal.sub(), item.action.id());
        let ids = if policies.is_empty() { "no policy permits it".to_owned() } else { policies.join(", ") };
        tracing::debug!(user, action, item = item.id, via, policies = ids, "denied by policy");
        if let Some(recording) = self.recording {
            let at = || (!policies.is_empty()).then(|| policies.join(", "));
            let of = item.action.entity_type();
            let via = if via.is_empty() { String::new() } else { format!(" via `{via}`") };
            recording.refused(RefusalReason::Policy, at, &format!("{action} {of}::\"{}\"{via}: {ids}", item.id));
        }
    }
}

fn not_with_these(name: &str) -> String {
    format!("`{name}` is not permitted with these arguments")
}

/// The item of a server as policies are asked about it when it is dispatched.
pub(super) fn ask_dispatch(
    asking: Asking<'_>,
    surface: Option<&Surface>,
    target: &ItemRef,
    params: &RawRef,
    via: &str,
) -> Result<Permit, AccessRefusal> {
    if asking.policies.get().is_none() {
        return Ok(Permit(None));
    }
    let unpublished = || format!("{}/{}", target.backend, target.name).into();
    let (name, definition): (Arc<str>, _) = match surface.map(|surface| surface.named(target)) {
        Some(named) => (named.name, named.definition),
        None => (unpublished(), None),
    };
    let params = Object::of(params).ok();
    // A template is used by one of its URIs.
    let uri = params.as_ref().filter(|_| target.kind == ItemKind::ResourceTemplate).and_then(|it| it.string("uri"));
    let item = AccessItem {
        action: PolicyAction::of(target.kind),
        id: uri.as_deref().unwrap_or(&name),
        server: &target.backend,
        original: &target.name,
        definition: definition.as_deref(),
    };
    asking.ask(item, params.as_ref().and_then(|params| params.get("arguments")), via)
}

/// The permit for a call that policies of this number have allowed as the use of the same item; `None` if others are in
/// force now.
pub(super) fn already_permitted(policies: &CurrentPolicies, number: u64) -> Option<Permit> {
    Some(Permit(Some(number))).filter(|permit| permit.is_current(policies))
}

impl RequestContext {
    fn caller(&self) -> AccessCaller<'_> {
        AccessCaller { principal: &self.principal, client: &self.client }
    }

    pub(super) fn asking<'a>(&'a self, policies: &'a CurrentPolicies) -> Asking<'a> {
        let recording = self.recording.as_deref();
        Asking { policies, principal: &self.principal, client: &self.client, recording }
    }
}

impl Calls {
    /// Asks whether the client may use a published item with these arguments. The error is the answer.
    pub(super) fn use_permit(
        &self,
        request: &RequestContext,
        entry: &PublishedItem,
        call: &ItemCall,
    ) -> Result<Permit, Result<Raw, CallError>> {
        let policies = self.dispatcher.policies();
        let Some(current) = policies.get() else { return Ok(Permit(None)) };
        // What a carrier carries is asked about when it is used.
        if entry.is_carrier() || request.surface.is_decided(&current, request.caller(), entry, &call.key) {
            return Ok(Permit(Some(current.number())));
        }
        if current.reads_arguments() {
            super::call::check_arguments_are_unique(call).map_err(Err)?;
        }
        let params = Object::of(&call.params).ok();
        let arguments = params.as_ref().and_then(|params| params.get("arguments"));
        let asked = request.asking(policies).ask_of(&current, entry.access_item(&call.key), arguments, "");
        asked.map_err(|refusal| match refusal {
            AccessRefusal::Unknown => Err(CallError::Unknown),
            AccessRefusal::Arguments(text) => failed(call.kind, text, None),
        })
    }

    /// Asks everything again that was asked before a call was suspended: the call goes on only if the client may still make it.
    /// The error is the answer.
    pub fn continue_permit(&self, request: &RequestContext, call: &ItemCall) -> Result<(), Result<Raw, CallError>> {
        self.audit_gate(request).map_err(|reason| failed(call.kind, reason, None))?;
        if let Some(server) = &call.unlisted_on {
            return self.unlisted_permit(request, server, &call.key).map(drop).map_err(Err);
        }
        match request.surface.find(call.kind, &call.key) {
            Some(entry) => self.use_permit(request, entry, call).map(drop),
            None => {
                self.note_unknown(request, call.kind, &call.key);
                Err(Err(CallError::Unknown))
            }
        }
    }

    /// Notes why a request for an item that is not in the surface is refused.
    pub(super) fn note_unknown(&self, request: &RequestContext, kind: ItemKind, key: &str) {
        let hidden = request.surface.hidden(kind, key).zip(self.dispatcher.policies().get());
        match hidden {
            Some((entry, policies)) => {
                let asking = request.asking(self.dispatcher.policies());
                let item = entry.access_item(entry.definition.key());
                // Asked only for somebody who reads it, so that a denied item does not take longer than an unknown one.
                let is_read = request.recording.as_ref().is_some_and(|recording| recording.details().is_some());
                let ids = if is_read { asking.forbidding(&policies, item) } else { Vec::new() };
                asking.note(&item, "", &ids);
            }
            None => {
                if let Some(recording) = &request.recording {
                    recording.refused(RefusalReason::Unknown, || None, "no such item is published");
                }
            }
        }
    }

    /// Asks about a resource that is not published: one that a result has linked to, or a user interface.
    pub fn unlisted_permit(&self, request: &RequestContext, server: &str, uri: &str) -> Result<Permit, CallError> {
        let item = AccessItem { action: PolicyAction::ReadResource, id: uri, server, original: uri, definition: None };
        request.asking(self.dispatcher.policies()).ask(item, None, "").map_err(|_| CallError::Unknown)
    }

    /// Asks about a published resource that a client subscribes to by this URI.
    pub fn subscribe_permit(
        &self,
        request: &RequestContext,
        entry: &PublishedItem,
        uri: &str,
    ) -> Result<Permit, CallError> {
        let asking = request.asking(self.dispatcher.policies());
        asking.ask(entry.access_item(uri), None, "").map_err(|_| CallError::Unknown)
    }

    /// Whether somebody who has subscribed to a resource may still be told of its updates.
    pub fn may_follow(&self, key: &SurfaceKey, surface: &Surface, server: &str, uri: &str) -> bool {
        let policies = self.dispatcher.policies();
        let asking = Asking { policies, principal: &key.principal, client: &key.client, recording: None };
        let name = surface.published_key(ItemKind::Resource, uri);
        let item = match surface.find(ItemKind::Resource, uri) {
            Some(entry) => entry.access_item(name),
            None => {
                let action = PolicyAction::ReadResource;
                AccessItem { action, id: uri, server, original: uri, definition: None }
            }
        };
        asking.ask(item, None, "").is_ok()
    }

    /// Asks whether a client may know of a published item: for its completions and its tasks.
    pub fn listed_permit(&self, request: &RequestContext, entry: &PublishedItem) -> Result<Permit, CallError> {
        let asking = request.asking(self.dispatcher.policies());
        asking.ask_listed(entry.access_item(entry.definition.key())).map_err(|_| CallError::Unknown)
    }

    /// Asks about a task of a tool that is no longer published. Without policies it can still be used.
    pub fn orphan_permit(&self) -> Result<Permit, CallError> {
        if self.dispatcher.policies().get().is_none() { Ok(Permit(None)) } else { Err(CallError::Unknown) }
    }

    /// Asks about a method that MCP does not define.
    pub fn method_permit(
        &self,
        request: &RequestContext,
        server: &str,
        method: &str,
        params: Option<&RawRef>,
    ) -> Result<Permit, CallError> {
        method_permit(request.asking(self.dispatcher.policies()), server, method, params)
    }

    /// Asks about a notification that MCP does not define.
    pub fn notification_permit(
        &self,
        principal: &Principal,
        client: &ClientInfo,
        server: &str,
        method: &str,
        params: Option<&RawRef>,
    ) -> Result<Permit, CallError> {
        let policies = self.dispatcher.policies();
        method_permit(Asking { policies, principal, client, recording: None }, server, method, params)
    }
}

fn method_permit(asking: Asking<'_>, server: &str, method: &str, params: Option<&RawRef>) -> Result<Permit, CallError> {
    let item = AccessItem { action: PolicyAction::CallMethod, id: method, server, original: method, definition: None };
    let is_ambiguous = |params: &RawRef| !params.get().starts_with('{') || check_unique_keys(params).is_err();
    if asking.policies.get().is_some_and(|policies| policies.reads_arguments()) && params.is_some_and(is_ambiguous) {
        asking.note(&item, "", &[]);
        return Err(CallError::Unknown);
    }
    asking.ask(item, params, "").map_err(|_| CallError::Unknown)
}
