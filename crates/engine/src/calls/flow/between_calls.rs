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
use proxy_mcp_client::{CallError, Peer, Question, QuestionGuard, SessionEnd};
use proxy_model::{Abilities, Era, Owner, PersonKey};
use proxy_store::Store;
use proxy_wire::{LoggingLevel, RpcError};

/// The request for the client's folders.
const ROOTS: &str = "roots/list";

/// Looks up the surface of which the rules are taken, which a reload replaces.
type SurfaceNow = Arc<dyn Fn() -> Option<Arc<Surface>> + Send + Sync>;

/// Puts the rules before what servers ask between calls.
#[derive(Clone)]
pub struct GuardedQuestions {
    surface_now: SurfaceNow,
    store: Store,
}

impl GuardedQuestions {
    pub fn new(surface_now: impl Fn() -> Option<Arc<Surface>> + Send + Sync + 'static, store: Store) -> Self {
        GuardedQuestions { surface_now: Arc::new(surface_now), store }
    }

    /// Asks the rules whether the answer to a question may go to the server.
    async fn admit(&self, server: &Arc<str>, peer: &dyn Peer, question: &Question) -> Result<(), CallError> {
        // The client's folders are nothing that the conversation has read. Before the script has run, it has read nothing.
        if question.method == ROOTS {
            return Ok(());
        }
        let Some(surface) = (self.surface_now)() else { return Ok(()) };
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

impl Peer for AskedBetweenCalls {
    fn owner(&self) -> &Owner {
        self.peer.owner()
    }

    fn person(&self) -> Owner {
        self.peer.person()
    }

    fn person_key(&self) -> Option<PersonKey> {
        self.peer.person_key()
    }

    fn era(&self) -> Era {
        self.peer.era()
    }

    fn abilities(&self) -> Abilities {
        self.peer.abilities()
    }

    fn askable(&self) -> Abilities {
        self.peer.askable()
    }

    fn declared(&self) -> Option<&RawRef> {
        self.peer.declared()
    }

    fn wants_progress(&self) -> bool {
        self.peer.wants_progress()
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        self.peer.log_level()
    }

    fn understands_url_error(&self) -> bool {
        self.peer.understands_url_error()
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

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        self.peer.room()
    }

    fn hops(&self) -> Option<&str> {
        self.peer.hops()
    }

    fn relays(&self) -> bool {
        self.peer.relays()
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

    fn supports(&self, question: &Question) -> bool {
        self.peer.supports(question)
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        self.peer.between_calls()
    }

    fn gone(&self) -> Option<SessionEnd> {
        self.peer.gone()
    }
}
