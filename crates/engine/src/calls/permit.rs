//! Asks the policies. Nothing is dispatched to a server without a [`Permit`], and only this file makes them.

use std::sync::Arc;

use super::failed::failed;
use crate::surface::Surface;
use proxy_identity::cedar::{
    AccessCaller, AccessItem, AccessRequest, CurrentPolicies, Decision, Policies, PolicyAction,
};
use proxy_json::{Object, Raw, RawRef};
use proxy_mcp_client::CallError;
use proxy_model::{ClientInfo, ItemKind, ItemRef, Principal, RefusalReason, ScopeRules};
use proxy_telemetry::CallRecording;

/// Proof that the policies with this version number allow a dispatch to a server, or that there are no policies.
#[derive(Debug)]
pub struct Permit(Option<u64>);

impl Permit {
    /// The permit without policies.
    pub(super) fn without_policies() -> Self {
        Permit(None)
    }

    /// Whether the policies that issued the permit are still in force. They may have changed while the call waited.
    pub(super) fn is_current(&self, policies: &CurrentPolicies) -> bool {
        self.0 == policies.number()
    }

    /// The version number of the policies that issued it.
    pub(super) fn number(&self) -> Option<u64> {
        self.0
    }
}

/// Why a use is refused.
#[derive(Debug)]
pub(super) enum AccessRefusal {
    /// The caller must not know that there is such an item.
    Unknown,
    /// The caller lacks scopes, or may use it with other arguments only. The text is for the caller.
    Refused(String),
    /// The decision failed.
    Fault(CallError),
}

impl AccessRefusal {
    /// The answer to a request for an item of this kind.
    pub(super) fn answer(self, kind: ItemKind) -> Result<Raw, CallError> {
        match self {
            AccessRefusal::Unknown => Err(CallError::Unknown),
            AccessRefusal::Refused(text) => failed(kind, text, None),
            AccessRefusal::Fault(error) => Err(error),
        }
    }

    /// The error for a request whose result cannot carry an error.
    pub(super) fn error(self) -> CallError {
        match self {
            AccessRefusal::Unknown => CallError::Unknown,
            AccessRefusal::Refused(message) => CallError::Failed { message, data: None },
            AccessRefusal::Fault(error) => error,
        }
    }
}

/// Decides about access. Holds the caller, the rules, and the record to note a refusal in.
#[derive(Clone, Copy)]
pub(super) struct AccessCheck<'a> {
    pub(super) scope_rules: &'a ScopeRules,
    pub(super) policies: &'a CurrentPolicies,
    pub(super) principal: &'a Principal,
    pub(super) client: &'a ClientInfo,
    pub(super) recording: Option<&'a CallRecording>,
}

impl<'a> AccessCheck<'a> {
    fn caller(&self) -> AccessCaller<'a> {
        AccessCaller { principal: self.principal, client: self.client }
    }

    /// Decides whether the caller may use an item, for all kinds of requests: checks the scopes of the caller's token
    /// first, then the policies. `is_decided` returns whether the policies have already allowed it; `arguments` reads an
    /// object.
    pub(super) fn admit<A: AsRef<RawRef>>(
        &self,
        kind: ItemKind,
        item: AccessItem<'_>,
        is_decided: impl FnOnce(&Policies) -> bool,
        arguments: impl FnOnce(&Policies) -> Result<Option<A>, CallError>,
    ) -> Result<Permit, AccessRefusal> {
        self.check_scopes(kind, item.id)?;
        let Some(policies) = self.policies.get() else { return Ok(Permit(None)) };
        if is_decided(&policies) {
            return Ok(Permit(Some(policies.number())));
        }
        let arguments = arguments(&policies).map_err(AccessRefusal::Fault)?;
        self.ask_of(&policies, item, arguments.as_ref().map(AsRef::as_ref), "")
    }

    /// Asks about an item without arguments.
    pub(super) fn admit_plain(&self, kind: ItemKind, item: AccessItem<'_>) -> Result<Permit, AccessRefusal> {
        self.check_scopes(kind, item.id)?;
        self.ask(item, None, "")
    }

    /// Refuses and notes a request whose caller lacks scopes. The front has refused most such requests with a 403; this is for
    /// names that only the surface or a script knows, and for surfaces that changed meanwhile.
    pub(super) fn check_scopes(&self, kind: ItemKind, key: &str) -> Result<(), AccessRefusal> {
        let Some(needed) = self.scope_rules.lacking(self.principal, kind, key) else { return Ok(()) };
        let why = ScopeRules::refusal(&needed);
        if let Some(recording) = self.recording {
            recording.refused(RefusalReason::Scope, || None, &why);
        }
        Err(AccessRefusal::Refused(why))
    }

    /// Asks the policies about one use. `arguments` is an object.
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
                    (true, None) => AccessRefusal::Refused(not_with_these(item.id)),
                    (true, Some(message)) => AccessRefusal::Refused(format!("{}: {message}", not_with_these(item.id))),
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

    /// Notes that the caller requested an item that these policies hide. The responsible policies are looked up only if
    /// somebody reads the record, so that a hidden item takes no longer than an unknown one (timing side channel).
    pub(super) fn note_hidden(&self, policies: &Policies, item: AccessItem<'_>) {
        let is_read = self.recording.is_some_and(|recording| recording.details().is_some());
        let ids = if is_read { self.forbidding(policies, item) } else { Vec::new() };
        self.note(&item, "", &ids);
    }

    /// Notes a refusal in the record of the request and in the log. Values of arguments are in neither.
    pub(super) fn note(&self, item: &AccessItem<'_>, via: &str, policies: &[Arc<str>]) {
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
    check: AccessCheck<'_>,
    surface: Option<&Surface>,
    target: &ItemRef,
    params: &RawRef,
    via: &str,
) -> Result<Permit, AccessRefusal> {
    if check.policies.get().is_none() {
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
    check.ask(item, params.as_ref().and_then(|params| params.get("arguments")), via)
}

/// The permit for a call that the policies with this version number have already allowed for the same item; `None` if other
/// policies are in force now.
pub(super) fn already_permitted(policies: &CurrentPolicies, number: u64) -> Option<Permit> {
    Some(Permit(Some(number))).filter(|permit| permit.is_current(policies))
}
