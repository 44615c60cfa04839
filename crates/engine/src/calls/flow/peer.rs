//! The peer of a call of a labelled item. What the server says during the call is passed on after the marks are stored, and
//! its questions are asked if the rules let their answers go to the server.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::guard::Verdict;
use super::marker::{Marker, ServerMessage};
use super::passage::egress;
use crate::calls::client_question::as_request;
use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{CallError, Peer, Question, SessionEnd};
use proxy_model::flow::Reading;
use proxy_model::{Abilities, Era, Owner, PersonKey};
use proxy_wire::{LoggingLevel, RpcError};

/// The request of a server to the client's model.
const SAMPLING: &str = "sampling/createMessage";

#[derive(Debug)]
pub(super) struct MarkingPeer {
    peer: Arc<dyn Peer>,
    marker: Arc<Marker>,
}

impl MarkingPeer {
    pub(super) fn new(peer: Arc<dyn Peer>, marker: Arc<Marker>) -> Self {
        MarkingPeer { peer, marker }
    }
}

/// Asks the rules about the answer to a question.
async fn admit(peer: &dyn Peer, marker: &Marker, question: &Question) -> Result<(), CallError> {
    let guard = &marker.guard;
    let is_sampling = question.method == SAMPLING;
    if !is_sampling && guard.labels.is_empty() {
        return Ok(());
    }
    marker.mark().await?;
    let reading = guard.reading().await?;
    let verdict = if is_sampling {
        guard.judge(&reading, &egress())?
    } else {
        let before = match reading {
            Reading::Marked(mut marks) => {
                marks.0.retain(|label, _| !marker.own.contains(label));
                Reading::Marked(marks)
            }
            unknown => unknown,
        };
        guard.judge(&before, &guard.labels)?
    };
    let Verdict::Asks(consent) = verdict else { return Ok(()) };
    if marker.is_covered && !is_sampling {
        return Ok(());
    }
    let consent_question = as_request(&guard.question(&consent, &question.params));
    if !peer.supports(&consent_question) {
        return Err(guard.not_asked(&consent));
    }
    let answer = peer.ask(consent_question).await.ok();
    let answer: Option<Value> = answer.and_then(|answer| serde_json::from_str(answer.get()).ok());
    if answer.is_some_and(|answer| answer["action"] == "accept") { Ok(()) } else { Err(guard.declined()) }
}

impl Peer for MarkingPeer {
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
        self.marker.pass_on(&self.peer, ServerMessage::Progress(params.to_owned()));
    }

    fn log(&self, params: &RawRef) {
        self.marker.pass_on(&self.peer, ServerMessage::Log(params.to_owned()));
    }

    fn notify(&self, method: &str, params: Option<&RawRef>) {
        let message = ServerMessage::Other(method.to_owned(), params.map(RawRef::to_owned));
        self.marker.pass_on(&self.peer, message);
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
        let peer = Arc::clone(&self.peer);
        let marker = Arc::clone(&self.marker);
        Box::pin(async move {
            let admitted = admit(peer.as_ref(), &marker, &question).await;
            admitted.map_err(|stopped| RpcError::internal(&stopped.to_string()))?;
            peer.ask(question).await
        })
    }

    fn supports(&self, question: &Question) -> bool {
        self.peer.supports(question)
    }

    /// Between calls the same server may ask and tell, under the labels of the item that was called.
    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        let peer = self.peer.between_calls()?;
        Some(Arc::new(MarkingPeer { peer, marker: Arc::clone(&self.marker) }))
    }

    fn gone(&self) -> Option<SessionEnd> {
        self.peer.gone()
    }
}
