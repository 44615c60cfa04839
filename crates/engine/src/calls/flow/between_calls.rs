//! Questions that a server asks while no call runs. Nobody knows which item they are about, so that the answer is judged as
//! if it went to all of them.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::caller::FlowCaller;
use super::decisions::{Decisions, QuestionDecisions};
use super::guard::{FlowGuard, Verdict};
use super::peer::consented;
use crate::surface::Surface;
use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{CallError, Peer, PeerLayer, Question, QuestionGuard};
use proxy_model::Principal;
use proxy_store::Store;
use proxy_telemetry::Telemetry;
use proxy_telemetry::audit::{AuditEntry, ServerQuestion};
use proxy_wire::RpcError;

/// The request for the client's folders.
const ROOTS: &str = "roots/list";

/// The rules at this moment for what servers ask the clients of one profile, or those of the top level.
pub enum RulesNow {
    /// There are none.
    None,
    /// Those of the surface that these clients see.
    Of(Arc<Surface>),
    /// There are rules, but the session script has not yet said what they are about.
    Unknown,
}

/// Looks up the rules for the clients of a profile, which a reload replaces.
type LookUpRules = Arc<dyn Fn(Option<&Arc<str>>) -> RulesNow + Send + Sync>;

/// Puts the rules before what servers ask between calls.
#[derive(Clone)]
pub struct GuardedQuestions {
    rules: LookUpRules,
    store: Store,
    telemetry: Arc<Telemetry>,
}

impl GuardedQuestions {
    pub fn new(
        rules: impl Fn(Option<&Arc<str>>) -> RulesNow + Send + Sync + 'static,
        store: Store,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        GuardedQuestions { rules: Arc::new(rules), store, telemetry }
    }
}

/// A question on its way to the client.
struct OpenQuestion {
    guard: GuardedQuestions,
    server: Arc<str>,
    peer: Arc<dyn Peer>,
    question: Question,
    decided: Arc<Mutex<QuestionDecisions>>,
}

impl OpenQuestion {
    /// Asks the client, if the rules let the answer go to the server.
    async fn ask(self) -> Result<Raw, RpcError> {
        let answer = self.answer().await;
        self.audit();
        answer
    }

    async fn answer(&self) -> Result<Raw, RpcError> {
        let refused = |stopped: CallError| RpcError::internal(&stopped.to_string());
        let is_covered = self.admit(false).await.map_err(refused)?;
        let answer = self.peer.ask(self.question.clone()).await?;
        // The conversation may have read more while the question was open.
        self.admit(is_covered).await.map_err(refused)?;
        Ok(answer)
    }

    /// Asks the rules whether the answer to the question may go to the server. `is_covered` if the person has agreed already.
    /// Returns whether they agree now.
    async fn admit(&self, is_covered: bool) -> Result<bool, CallError> {
        // The client's folders are nothing that the conversation has read.
        if self.question.method == ROOTS {
            return Ok(is_covered);
        }
        let peer = self.peer.as_ref();
        let method = &self.question.method;
        let decisions = Decisions::OfQuestion(Arc::clone(&self.decided));
        let surface = match (self.guard.rules)(peer.proxy_profile()) {
            RulesNow::None => return Ok(is_covered),
            RulesNow::Of(surface) => surface,
            RulesNow::Unknown => {
                let why =
                    format!("`{method}` was not sent: the flow rules are not known before the session script has run");
                tracing::info!(server = %self.server, "{why}");
                decisions.note_refusal(&why, None, false);
                return Err(CallError::Stopped(why));
            }
        };
        self.decided.lock().policy = Some(Arc::clone(surface.policy()));
        let caller = FlowCaller::between_calls(&surface, peer, &self.guard.store, decisions);
        let Some(caller) = caller else { return Ok(is_covered) };
        let guard = FlowGuard::between_calls(caller, &self.server, method);
        match guard.verdict().await? {
            Verdict::Asks(consent) if !is_covered => {
                consented(peer, &guard, &consent, &self.question).await.map(|()| true)
            }
            Verdict::Asks(_) | Verdict::Passes => Ok(is_covered),
        }
    }

    /// Writes to the audit log what the rules have decided, if they have.
    fn audit(&self) {
        let Some(log) = self.guard.telemetry.audit() else { return };
        let QuestionDecisions { policy, flow, refusal } = self.decided.lock().clone();
        if flow.is_empty() && refusal.is_none() {
            return;
        }
        let person = self.peer.person_key();
        let principal = person.map_or_else(Principal::anonymous, |person| person.principal().clone());
        log.add(AuditEntry::ServerQuestion(Box::new(ServerQuestion {
            at: SystemTime::now(),
            principal: principal.in_profile(self.peer.proxy_profile().cloned()),
            server: Arc::clone(&self.server),
            method: self.question.method.clone(),
            policy,
            flow,
            refusal,
        })));
    }
}

impl fmt::Debug for GuardedQuestions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GuardedQuestions")
    }
}

impl QuestionGuard for GuardedQuestions {
    fn guarded(&self, server: &Arc<str>, peer: &Arc<dyn Peer>) -> Arc<dyn Peer> {
        Arc::new(AskedBetweenCalls { guard: self.clone(), server: Arc::clone(server), peer: Arc::clone(peer) })
    }
}

/// A client that one server may ask between calls.
#[derive(Debug)]
struct AskedBetweenCalls {
    guard: GuardedQuestions,
    server: Arc<str>,
    peer: Arc<dyn Peer>,
}

impl PeerLayer for AskedBetweenCalls {
    fn inner(&self) -> &Arc<dyn Peer> {
        &self.peer
    }

    fn progress(&self, params: &RawRef) {
        self.peer.progress(params);
    }

    fn log(&self, params: &RawRef) {
        self.peer.log(params);
    }

    fn notify(&self, method: &str, params: Option<&RawRef>) {
        self.peer.notify(method, params);
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let question = OpenQuestion {
            guard: self.guard.clone(),
            server: Arc::clone(&self.server),
            peer: Arc::clone(&self.peer),
            question,
            decided: Arc::default(),
        };
        Box::pin(question.ask())
    }
}
