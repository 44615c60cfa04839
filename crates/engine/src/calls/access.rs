//! Policy decisions about client requests: the use of a published item, and everything else that reaches a server.

use serde_json::json;

use super::call::{Calls, check_arguments_are_unique};
use super::context::{ItemCall, RequestContext};
use super::failed::failed;
use super::permit::{AccessCheck, AccessRefusal, Permit};
use crate::results::ToolBehind;
use crate::surface::{PublishedItem, Surface, tool_item};
use proxy_identity::cedar::{AccessCaller, AccessItem, CurrentPolicies, Policies, PolicyAction};
use proxy_json::{Object, Raw, RawRef, check_unique_keys};
use proxy_mcp_client::CallError;
use proxy_model::{ClientInfo, ItemKind, NOT_PUBLISHED, Principal, RefusalReason, ScopeRules, SurfaceKey};

impl RequestContext {
    fn caller(&self) -> AccessCaller<'_> {
        AccessCaller { principal: &self.principal, client: &self.client }
    }

    pub(super) fn access_check<'a>(&'a self, policies: &'a CurrentPolicies) -> AccessCheck<'a> {
        AccessCheck {
            scope_rules: &self.scope_rules,
            policies,
            principal: &self.principal,
            client: &self.client,
            recording: self.recording.as_deref(),
        }
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
        // Policies decide about a carrier's tools when it calls them, not about the carrier itself.
        let is_decided = |policies: &Policies| {
            entry.is_carrier() || request.surface.is_decided(policies, request.caller(), entry, &call.key)
        };
        let arguments = |policies: &Policies| {
            if policies.reads_arguments() {
                check_arguments_are_unique(call)?;
            }
            Ok(Object::of(&call.params).ok().and_then(|params| params.get("arguments")))
        };
        let check = request.access_check(self.dispatcher.policies());
        let asked = check.admit(call.kind, entry.access_item(&call.key), is_decided, arguments);
        asked.map_err(|refusal| refusal.answer(call.kind))
    }

    /// Repeats all access checks for a call that was suspended: it continues only if the client may still make it. The
    /// error is the answer.
    pub fn continue_permit(&self, request: &RequestContext, call: &ItemCall) -> Result<(), Result<Raw, CallError>> {
        self.audit_gate(request).map_err(|reason| failed(call.kind, reason, None))?;
        if call.own.is_some() {
            // Asked about the tool behind it, when the result is read.
            return self.own_item_permit(request, call.kind, &call.key).map_err(|refused| refused.answer(call.kind));
        }
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
                let check = request.access_check(self.dispatcher.policies());
                check.note_hidden(&policies, entry.access_item(entry.definition.key()));
            }
            None => {
                if let Some(recording) = &request.recording {
                    recording.refused(RefusalReason::Unknown, || None, NOT_PUBLISHED);
                }
            }
        }
    }

    /// Asks about a resource that is not published: one that a result has linked to, or a user interface.
    pub fn unlisted_permit(&self, request: &RequestContext, server: &str, uri: &str) -> Result<Permit, CallError> {
        let item = AccessItem { action: PolicyAction::ReadResource, id: uri, server, original: uri, definition: None };
        let check = request.access_check(self.dispatcher.policies());
        check.admit_plain(ItemKind::Resource, item).map_err(AccessRefusal::error)
    }

    /// Asks about a published resource that a client subscribes to by this URI.
    pub fn subscribe_permit(
        &self,
        request: &RequestContext,
        entry: &PublishedItem,
        uri: &str,
    ) -> Result<Permit, CallError> {
        let check = request.access_check(self.dispatcher.policies());
        check.admit_plain(ItemKind::Resource, entry.access_item(uri)).map_err(AccessRefusal::error)
    }

    /// Whether a subscriber may still be notified of a resource's updates.
    pub fn may_follow(&self, key: &SurfaceKey, surface: &Surface, server: &str, uri: &str) -> bool {
        let policies = self.dispatcher.policies();
        let scope_rules = &ScopeRules::default();
        let check =
            AccessCheck { scope_rules, policies, principal: &key.principal, client: &key.client, recording: None };
        let name = surface.published_key(ItemKind::Resource, uri);
        let item = match surface.find(ItemKind::Resource, uri) {
            Some(entry) => entry.access_item(name),
            None => {
                let action = PolicyAction::ReadResource;
                AccessItem { action, id: uri, server, original: uri, definition: None }
            }
        };
        check.ask(item, None, "").is_ok()
    }

    /// Asks whether a client may know of a published item: for its completions and its tasks.
    pub fn listed_permit(&self, request: &RequestContext, entry: &PublishedItem) -> Result<Permit, CallError> {
        let check = request.access_check(self.dispatcher.policies());
        check.ask_listed(entry.access_item(entry.definition.key())).map_err(|_| CallError::Unknown)
    }

    /// Asks about the proxy's own tool and resources, about which policies are never asked.
    pub(super) fn own_item_permit(
        &self,
        request: &RequestContext,
        kind: ItemKind,
        key: &str,
    ) -> Result<(), AccessRefusal> {
        request.access_check(self.dispatcher.policies()).check_scopes(kind, key)
    }

    /// Asks whether the client may still know of the tool that made a result.
    pub(super) fn behind_permit(&self, request: &RequestContext, tool: &ToolBehind) -> Result<(), AccessRefusal> {
        let check = request.access_check(self.dispatcher.policies());
        check.check_scopes(ItemKind::Tool, &tool.name)?;
        let published = tool.carrier.as_ref().unwrap_or(&tool.name);
        let Some(entry) = request.surface.find(ItemKind::Tool, published) else {
            self.note_unknown(request, ItemKind::Tool, published);
            return Err(AccessRefusal::Unknown);
        };
        if tool.carrier.is_none() && !entry.is_carrier() {
            return check.ask_listed(entry.access_item(&tool.name)).map(drop);
        }
        if tool.carrier.is_none() {
            // Policies decide about what a carrier carries: here about calls that nobody knows any more.
            let is_as_before = tool.allowed_by.as_deref() == Some(&self.allowed_by(request));
            return if is_as_before { Ok(()) } else { Err(AccessRefusal::Unknown) };
        }
        let carried = entry
            .carrier
            .as_ref()
            .and_then(|(carrier, _)| carrier.index.tools().find(|carried| carried.definition.key() == tool.name));
        match carried {
            Some(carried) => check.ask_listed(tool_item(carried)).map(drop),
            None => Err(AccessRefusal::Unknown),
        }
    }

    /// Identifies the policies in force, and everything about the caller that policies and scopes can see.
    pub(super) fn allowed_by(&self, request: &RequestContext) -> String {
        let policies = self.dispatcher.policies().get();
        let policies = policies.as_ref().map(|policies| policies.digest());
        let caller = format!("{:?} {:?}", request.principal, request.client.name());
        proxy_json::digest(&json!([policies, caller]))
    }

    /// Whether a person may know of a server's tool before it is published: of the one with which people log in.
    pub fn may_log_in(&self, principal: &Principal, server: &str, tool: &str) -> bool {
        let item = AccessItem { action: PolicyAction::CallTool, id: tool, server, original: tool, definition: None };
        let policies = self.dispatcher.policies();
        let scope_rules = &ScopeRules::default();
        let client = &ClientInfo::default();
        AccessCheck { scope_rules, policies, principal, client, recording: None }.ask_listed(item).is_ok()
    }

    /// Asks about a task of a tool that is no longer published. Without policies it can still be used.
    pub fn orphan_permit(&self) -> Result<Permit, CallError> {
        if self.dispatcher.policies().get().is_none() {
            Ok(Permit::without_policies())
        } else {
            Err(CallError::Unknown)
        }
    }

    /// Asks about a method that MCP does not define.
    pub fn method_permit(
        &self,
        request: &RequestContext,
        server: &str,
        method: &str,
        params: Option<&RawRef>,
    ) -> Result<Permit, CallError> {
        method_permit(request.access_check(self.dispatcher.policies()), server, method, params)
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
        let scope_rules = &ScopeRules::default();
        method_permit(AccessCheck { scope_rules, policies, principal, client, recording: None }, server, method, params)
    }
}

fn method_permit(
    check: AccessCheck<'_>,
    server: &str,
    method: &str,
    params: Option<&RawRef>,
) -> Result<Permit, CallError> {
    let item = AccessItem { action: PolicyAction::CallMethod, id: method, server, original: method, definition: None };
    let is_ambiguous = |params: &RawRef| !params.get().starts_with('{') || check_unique_keys(params).is_err();
    if check.policies.get().is_some_and(|policies| policies.reads_arguments()) && params.is_some_and(is_ambiguous) {
        check.note(&item, "", &[]);
        return Err(CallError::Unknown);
    }
    check.ask(item, params, "").map_err(|_| CallError::Unknown)
}
