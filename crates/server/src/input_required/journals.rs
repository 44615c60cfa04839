//! Questions of script handlers to stateless clients. The client's request ends with the questions, the handler's
//! journal is saved in the store, and the ticket in `requestState` refers to the journal.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::ticket::{ALREADY_USED, CallFingerprint, TicketTarget};
use crate::Server;
use proxy_base::seal::Purpose;
use proxy_engine::calls::{
    ANSWER_TIMEOUT, ItemCall, POLICY_CHANGED, RequestContext, as_request, failed, prepared_answer, take_answer,
};
use proxy_engine::surface::Surface;
use proxy_json::{Object, Raw, digest, quote};
use proxy_mcp_client::CallError;
use proxy_model::{JournalSnapshot, Principal, Question};
use proxy_wire::RpcError;

/// Maximum size of the surfaces of suspended calls that were built for single clients. A call whose surface is gone continues if the catalog is unchanged.
const MAX_SUSPENDED_BYTES: usize = 64 << 20;

/// The journal of a suspended handler, and the digests that must be unchanged when the client answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenQuestion {
    /// The id of the journal in the store.
    id: String,
    policy: String,
    catalog: String,
    groups: String,
}

/// The surfaces of suspended calls, in case the catalog changes before the answer comes.
#[derive(Debug, Default)]
pub(crate) struct SuspendedSurfaces(Mutex<HashMap<String, (Instant, Arc<Surface>)>>);

impl SuspendedSurfaces {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, Arc<Surface>)>> {
        self.0.lock()
    }

    /// Keeps the surface of a call. If those that were built for single clients are too large together, the oldest calls
    /// lose theirs.
    fn insert(&self, id: &str, surface: &Arc<Surface>) {
        let now = Instant::now();
        let mut surfaces = self.lock();
        surfaces.retain(|_, (since, _)| now.duration_since(*since) < ANSWER_TIMEOUT);
        surfaces.insert(id.to_owned(), (now, Arc::clone(surface)));
        loop {
            let personal = || surfaces.iter().filter(|(_, (_, surface))| surface.personal().is_some());
            // Calls of one client share its surface.
            let sizes: HashMap<*const Surface, usize> =
                personal().map(|(_, (_, surface))| (Arc::as_ptr(surface), surface.bytes())).collect();
            if sizes.len() < 2 || sizes.values().sum::<usize>() <= MAX_SUSPENDED_BYTES {
                return;
            }
            let oldest = personal().min_by_key(|(_, (since, _))| *since).map(|(id, _)| id.clone());
            oldest.and_then(|id| surfaces.remove(&id));
        }
    }

    fn take(&self, id: &str) -> Option<Arc<Surface>> {
        self.lock().remove(id).map(|(_, surface)| surface)
    }
}

/// The outcome of resuming a suspended call.
pub(crate) enum ResumeOutcome {
    /// Every question has an answer: the handler runs again on this surface, with this journal.
    Answered(Arc<Surface>, JournalSnapshot),
    /// The result of this request: the questions that are still open, or the reason why the call cannot continue.
    Result(Raw),
}

/// Suspends a call: its journal goes into the store, and the questions are the result of the request.
pub(super) async fn ask_in_result(
    server: &Server,
    journal: &JournalSnapshot,
    request: &RequestContext,
    call: &ItemCall,
) -> Result<Raw, CallError> {
    let no_randomness = |_| RpcError::internal("cannot create a ticket: the random number generator failed");
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(no_randomness)?;
    let id = proxy_json::hex(&random);
    let content = journal.to_bytes().map_err(|error| RpcError::internal(&error.to_string()))?;
    let sealed = server.sealer.seal_bytes(Purpose::Journal, &id, &content).map_err(no_randomness)?;
    if let Err(error) = server.gateway.calls().store.put_journal(&id, sealed, ANSWER_TIMEOUT).await {
        return failed(call.kind, format!("cannot suspend the call to ask the client: {error}"), None);
    }
    let open = OpenQuestion {
        policy: request.surface.policy().to_string(),
        catalog: request.surface.catalog().to_owned(),
        groups: groups(&request.principal),
        id,
    };
    server.suspended.insert(&open.id, &request.surface);
    let (fingerprint, waiting) = (CallFingerprint::of(call)?, TicketTarget::Script(open));
    let ticket = server.tickets.issue(
        &server.gateway.calls().store,
        &request.principal,
        fingerprint,
        waiting,
        request.call_id(),
        ANSWER_TIMEOUT,
    )?;
    let requests: Vec<String> = journal
        .questions()
        .into_iter()
        .map(|(key, question)| {
            if let Some(recording) = &request.recording {
                recording.asked(&question.message);
            }
            let request = as_request(question);
            format!("{}:{{\"method\":{},\"params\":{}}}", quote(&key), quote(&request.method), request.params)
        })
        .collect();
    let result = format!(
        "{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}},\"requestState\":{}}}",
        requests.join(","),
        quote(&ticket)
    );
    proxy_json::valid(result).map_err(|error| RpcError::internal(&error.to_string()).into())
}

/// Resumes a suspended call with the answers in the client's request.
pub(crate) async fn resume(
    server: &Server,
    open: OpenQuestion,
    request: &RequestContext,
    call: &ItemCall,
) -> Result<ResumeOutcome, CallError> {
    let refused = |reason: String| failed(call.kind, reason, None).map(ResumeOutcome::Result);
    let store = server.gateway.calls().store.clone();
    let sealed = store.take_journal(&open.id).await.map_err(|error| RpcError::internal(&error.to_string()))?;
    // Decided first: the call of a ticket that was used may have been carried out, whatever has changed since.
    let already_used = || RpcError::invalid_params(&format!("`requestState` was {ALREADY_USED}"));
    let sealed = sealed.ok_or_else(already_used)?;
    let surface = match surface_of(server, &open, request) {
        Ok(surface) => surface,
        Err(reason) => {
            // The question is still open, should the change be undone.
            if let Err(error) = store.put_journal(&open.id, sealed, ANSWER_TIMEOUT).await {
                tracing::debug!(%error, "cannot keep the journal of a call that waits for an answer");
            }
            return refused(reason.to_owned());
        }
    };
    let content = server.sealer.open_bytes(Purpose::Journal, &open.id, &sealed);
    let mut journal =
        content.and_then(|content| JournalSnapshot::from_bytes(&content).ok()).ok_or_else(already_used)?;
    server.suspended.take(&open.id);
    let params = Object::of(&call.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let answers = params.get("inputResponses").and_then(|answers| Object::of(answers).ok());
    let open_questions: Vec<(String, Question)> =
        journal.questions().into_iter().map(|(key, question)| (key, question.clone())).collect();
    for (key, question) in open_questions {
        let answer = answers.as_ref().and_then(|answers| answers.get(&key));
        let answer = prepared_answer(&question, answer).await;
        if let (Some(recording), Ok(answer)) = (&request.recording, &answer) {
            recording.answered(Some(answer));
        }
        if let Err(reason) = take_answer(&mut journal, &key, answer) {
            return refused(reason);
        }
    }
    if journal.questions().is_empty() {
        return Ok(ResumeOutcome::Answered(surface, journal));
    }
    let request = RequestContext { surface, ..request.clone() };
    ask_in_result(server, &journal, &request, call).await.map(ResumeOutcome::Result)
}

/// The surface on which a suspended call continues: the current one if the catalog is unchanged, otherwise the surface
/// on which the call was suspended.
fn surface_of(server: &Server, open: &OpenQuestion, request: &RequestContext) -> Result<Arc<Surface>, &'static str> {
    if open.groups != groups(&request.principal) {
        return Err("your groups changed while the call waited for your answer; call again");
    }
    if open.policy != **request.surface.policy() {
        return Err(POLICY_CHANGED);
    }
    if open.catalog == request.surface.catalog() {
        return Ok(Arc::clone(&request.surface));
    }
    let suspended = server.suspended.lock().get(&open.id).map(|(_, surface)| Arc::clone(surface));
    suspended.ok_or("the servers' lists changed while the call waited for your answer; call again")
}

/// A digest of the principal's groups, on which a script's decisions may depend.
fn groups(principal: &Principal) -> String {
    let mut groups = principal.groups.to_vec();
    groups.sort();
    digest(&serde_json::Value::from(groups))
}
