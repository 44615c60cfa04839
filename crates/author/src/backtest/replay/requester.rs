//! The user, client and params of a recorded call.

use std::sync::Arc;

use crate::backtest::recording::CallLine;
use crate::testing::ScriptedUser;
use proxy_engine::calls::{ItemCall, RequestContext};
use proxy_engine::surface::Surface;
use proxy_json::{Object, Raw, RawRef};
use proxy_mcp_client::Cancellation;
use proxy_model::{Abilities, ClientProfile, Era, Owner, Sid};
use proxy_telemetry::CallRecording;
use proxy_wire::{Revision, carried_meta, key};

/// What decides which lists the client saw.
pub(super) fn profile(call: &CallLine) -> ClientProfile {
    let Some(revision) = call.client.revision() else {
        // A command: it was asked on its terminal, if at all.
        return if call.questions.is_empty() { ClientProfile::SESSION } else { ClientProfile::TERMINAL };
    };
    let mut abilities = Abilities::read(&call.client.client_info().capabilities());
    // Elicitation was introduced in 2025-06-18; earlier clients cannot have it, whatever they declare.
    abilities.form &= revision >= Revision::V2025_06_18;
    ClientProfile { era: revision.era(), abilities }
}

/// The context of the request. Questions are always returned to the caller: the answers are in the recording.
pub(super) fn context(call: &CallLine, surface: &Arc<Surface>, recording: Arc<CallRecording>) -> RequestContext {
    let owner = match call.session {
        Some(number) => Owner::Session(Sid::numbered(number)),
        None if call.user.local => Owner::Process,
        None => Owner::new_request(),
    };
    let user = ScriptedUser::new(owner, profile(call).abilities, Vec::new(), Vec::new());
    RequestContext {
        client: call.client.client_info(),
        revision: call.client.revision(),
        retries_with_input: true,
        headers: call.headers.clone().into(),
        cancel: Cancellation::default(),
        recording: Some(recording),
        ..RequestContext::local(call.user.principal(), Arc::clone(surface), Some(user))
    }
}

/// The call of the item, as the front makes it of the params.
pub(super) fn item_call(call: &CallLine, surface: &Surface) -> ItemCall {
    let params = call.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let item = ItemCall::new(surface, call.kind(), &call.name, without_protocol(params));
    // A resource that only a result has named belongs to the server that was asked for it.
    let is_linked = !call.published && surface.find(call.kind(), &item.key).is_none();
    let server = call.server_calls.first().filter(|_| is_linked).map(|called| called.server.as_str().into());
    ItemCall { unlisted_on: server, ..item }
}

/// The params without what belongs to a revision of the protocol.
fn without_protocol(params: &RawRef) -> Raw {
    let Ok(object) = Object::of(params) else { return params.to_owned() };
    let mut edit = object.edit();
    if let Some(meta) = object.get(key::META) {
        match carried_meta(meta) {
            Some(rest) => edit.set(key::META, &rest),
            None => edit.remove(key::META),
        };
    }
    edit.remove("requestState").remove("inputResponses");
    edit.finish_raw()
}

/// The state with which a stateless client continues a call that has asked something.
pub(super) fn request_state(call: &CallLine) -> Option<String> {
    let stateless = call.client.revision().is_some_and(|revision| revision.era() == Era::Stateless);
    Object::of(call.params.as_deref().filter(|_| stateless)?).ok()?.string("requestState")
}
