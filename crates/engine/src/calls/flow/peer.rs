//! The peer of a call of a labelled item. What the server says during the call is passed on after the marks are stored, and
//! its questions are asked if the rules let their answers go to the server.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::guard::{Consent, FlowGuard, Verdict, egress, is_accepted};
use super::marker::{Marker, ServerMessage};
use crate::calls::client_question::as_request;
use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{Asker, CallError, Peer, PeerLayer, Question};
use proxy_wire::RpcError;

/// The request of a server to the client's model.
pub(super) const SAMPLING: &str = "sampling/createMessage";

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

/// Asks the rules whether the answer to a question may go to the server. `is_covered` if the person has agreed already.
/// Returns whether they agree now.
async fn admit(peer: &dyn Peer, marker: &Marker, question: &Question, is_covered: bool) -> Result<bool, CallError> {
    let guard = &marker.guard;
    let is_sampling = question.method == SAMPLING;
    if !is_sampling && guard.labels.is_empty() {
        return Ok(false);
    }
    marker.mark().await?;
    let reading = guard.reading().await?;
    let verdict =
        if is_sampling { guard.judge(&reading, &egress())? } else { guard.judge_call(reading, &marker.told)? };
    match verdict {
        Verdict::Asks(consent) if !is_covered => consented(peer, guard, &consent, question).await.map(|()| true),
        Verdict::Asks(_) | Verdict::Passes => Ok(is_covered),
    }
}

/// Asks the person whether a question of a server may be answered.
pub(super) async fn consented(
    peer: &dyn Peer,
    guard: &FlowGuard,
    consent: &Consent,
    question: &Question,
) -> Result<(), CallError> {
    let asked = as_request(&guard.question(consent, &question.params));
    if !peer.supports(&asked) {
        return Err(guard.not_asked(consent));
    }
    let answer = peer.ask(asked).await.ok();
    let agreed = answer.is_some_and(|answer| is_accepted(&answer));
    guard.note_consent(consent, agreed);
    if agreed { Ok(()) } else { Err(guard.declined()) }
}

impl PeerLayer for MarkingPeer {
    fn inner(&self) -> &Arc<dyn Peer> {
        &self.peer
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

    fn guarding(&self, other: Arc<dyn Peer>) -> Arc<dyn Peer> {
        Arc::new(MarkingPeer::new(self.peer.guarding(other), Arc::clone(&self.marker)))
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let peer = Arc::clone(&self.peer);
        let marker = Arc::clone(&self.marker);
        if question.asker != Asker::Server {
            return peer.ask(question);
        }
        Box::pin(async move {
            let refused = |stopped: CallError| RpcError::internal(&stopped.to_string());
            let is_covered = marker.is_covered && question.method != SAMPLING;
            let is_covered = admit(peer.as_ref(), &marker, &question, is_covered).await.map_err(refused)?;
            let answer = peer.ask(question.clone()).await?;
            // The conversation may have read more while the question was open.
            admit(peer.as_ref(), &marker, &question, is_covered).await.map_err(refused)?;
            Ok(answer)
        })
    }
}
