//! The process at the other end of the control socket, as the peer of a call.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::elicitations::OperatorElicitations;
use super::events::CallEvent;
use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{Peer, Question, SessionEnd};
use proxy_model::{Abilities, Era, Owner, PersonKey, Principal};
use proxy_wire::outbound::OutboundMessage;
use proxy_wire::{LoggingLevel, RpcError, sse};

/// The frame of an event.
pub(super) fn frame(event: &CallEvent) -> Vec<u8> {
    sse::event(None, serde_json::to_string(event).unwrap_or_default().as_bytes())
}

#[derive(Debug)]
pub(super) struct EventPeer {
    owner: Owner,
    person: Owner,
    proxy_profile: Option<Arc<str>>,
    abilities: Abilities,
    frames: mpsc::Sender<OutboundMessage>,
    elicitations: Arc<OperatorElicitations>,
    gone: SessionEnd,
}

/// Closes the server connections that exist for this caller only.
impl Drop for EventPeer {
    fn drop(&mut self) {
        self.gone.end();
    }
}

impl EventPeer {
    pub(super) fn new(
        principal: &Principal,
        abilities: Abilities,
        frames: mpsc::Sender<OutboundMessage>,
        elicitations: &Arc<OperatorElicitations>,
    ) -> Self {
        EventPeer {
            owner: Owner::new_connection(),
            person: Owner::of_share(principal),
            proxy_profile: principal.profile().cloned(),
            abilities,
            frames,
            elicitations: Arc::clone(elicitations),
            gone: SessionEnd::default(),
        }
    }

    /// Sends an event that is dropped if the caller does not read.
    fn offer(&self, event: &CallEvent) {
        let _ = self.frames.try_send(OutboundMessage::uncounted(frame(event)));
    }
}

impl Peer for EventPeer {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn person(&self) -> Owner {
        self.person.clone()
    }

    /// The local operator has no token from an issuer.
    fn person_key(&self) -> Option<PersonKey> {
        None
    }

    fn proxy_profile(&self) -> Option<&Arc<str>> {
        self.proxy_profile.as_ref()
    }

    fn era(&self) -> Era {
        Era::Session
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn askable(&self) -> Abilities {
        self.abilities
    }

    fn declared(&self) -> Option<&RawRef> {
        None
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        None
    }

    fn understands_url_error(&self) -> bool {
        false
    }

    fn progress(&self, params: &RawRef) {
        self.offer(&CallEvent::Progress(params.to_owned()));
    }

    fn log(&self, params: &RawRef) {
        self.offer(&CallEvent::Log(params.to_owned()));
    }

    fn notify(&self, _: &str, _: Option<&RawRef>) {}

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    fn hops(&self) -> Option<&str> {
        None
    }

    fn relays(&self) -> bool {
        true
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let (frames, mut open, limit) = (self.frames.clone(), self.elicitations.open(), question.answer_timeout);
        async move {
            let event = CallEvent::Elicitation {
                id: open.id,
                method: question.method,
                params: question.params,
                answer_seconds: limit.as_secs(),
            };
            let gone = || RpcError::internal("the caller is gone");
            frames.send(OutboundMessage::uncounted(frame(&event))).await.map_err(|_| gone())?;
            match tokio::time::timeout(limit, &mut open.answer).await {
                Ok(answer) => answer.map_err(|_| gone()),
                Err(_) => Err(RpcError::internal("the caller did not answer in time")),
            }
        }
        .boxed()
    }

    fn supports(&self, question: &Question) -> bool {
        question.is_within(self.abilities)
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        None
    }

    fn gone(&self) -> Option<SessionEnd> {
        Some(self.gone.clone())
    }
}
