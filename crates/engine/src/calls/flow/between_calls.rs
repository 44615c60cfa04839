//! Questions that a server asks while no call runs. Nobody knows which item they are about, so that the answer is judged as
//! if it went to all of them.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::caller::FlowCaller;
use super::guard::{FlowGuard, Verdict};
use super::peer::consented;
use crate::surface::Surface;
use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{CallError, Peer, PeerLayer, Question, QuestionGuard};
use proxy_store::Store;
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
}

impl GuardedQuestions {
    pub fn new(rules: impl Fn(Option<&Arc<str>>) -> RulesNow + Send + Sync + 'static, store: Store) -> Self {
        GuardedQuestions { rules: Arc::new(rules), store }
    }

    /// Asks the rules whether the answer to a question may go to the server.
    async fn admit(&self, server: &Arc<str>, peer: &dyn Peer, question: &Question) -> Result<(), CallError> {
        // The client's folders are nothing that the conversation has read.
        if question.method == ROOTS {
            return Ok(());
        }
        let surface = match (self.rules)(peer.proxy_profile()) {
            RulesNow::None => return Ok(()),
            RulesNow::Of(surface) => surface,
            RulesNow::Unknown => {
                let method = &question.method;
                let why =
                    format!("`{method}` was not sent: the flow rules are not known before the session script has run");
                tracing::info!(%server, "{why}");
                return Err(CallError::Stopped(why));
            }
        };
        let Some(caller) = FlowCaller::between_calls(&surface, peer, &self.store) else { return Ok(()) };
        let guard = FlowGuard::between_calls(caller, server, &question.method);
        match guard.verdict().await? {
            Verdict::Passes => Ok(()),
            Verdict::Asks(consent) => consented(peer, &guard, &consent, question).await,
        }
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
        let guard = self.guard.clone();
        let server = Arc::clone(&self.server);
        let peer = Arc::clone(&self.peer);
        Box::pin(async move {
            let refused = |stopped: CallError| RpcError::internal(&stopped.to_string());
            guard.admit(&server, peer.as_ref(), &question).await.map_err(refused)?;
            let answer = peer.ask(question.clone()).await?;
            // The conversation may have read more while the question was open.
            guard.admit(&server, peer.as_ref(), &question).await.map_err(refused)?;
            Ok(answer)
        })
    }
}
