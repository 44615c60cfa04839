//! The client a call is made for, as far as a backend deals with it.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::session_end::SessionEnd;
use proxy_json::{Object, Raw, RawRef};
use proxy_model::{Abilities, ClientProfile, Era, Owner, PersonKey};
use proxy_wire::{LoggingLevel, RpcError};

/// Receives a call's progress, log messages and server requests. Peers that forward to others are [`super::PeerLayer`]s.
pub trait Peer: Send + Sync + Debug {
    fn owner(&self) -> &Owner;

    /// Whose share of the server's connections the client uses: an authenticated person may have several clients.
    fn person(&self) -> Owner;

    /// Whose connection is used for servers with a separate connection for each person. `None` if the caller is unknown.
    fn person_key(&self) -> Option<PersonKey>;

    /// The profile of the config under which the client came; `None` at the top level.
    fn proxy_profile(&self) -> Option<&Arc<str>>;

    /// The client's protocol era. A server that supports both eras is used in the same one.
    fn era(&self) -> Era;

    /// What the client can be asked in general. Clients share a connection only if their abilities match.
    fn abilities(&self) -> Abilities;

    /// What the client can be asked now, in this call.
    fn askable(&self) -> Abilities;

    /// The capabilities that a stateless client declared with this request.
    fn declared(&self) -> Option<&RawRef>;

    fn wants_progress(&self) -> bool;

    /// The minimum severity of log messages the client wants. `None` if the client did not set one.
    fn log_level(&self) -> Option<LoggingLevel>;

    /// Whether the client handles the "URL elicitation required" error itself and repeats the call.
    fn understands_url_error(&self) -> bool;

    /// Forwards progress. Never blocks: progress is dropped if the client does not read fast enough.
    fn progress(&self, params: &RawRef);

    /// Forwards a log message of the server if the client wants messages of its severity. Never blocks.
    fn log(&self, params: &RawRef);

    /// Forwards any other notification that the server sent during the call. Never blocks.
    fn notify(&self, method: &str, params: Option<&RawRef>);

    /// Completes when the client can take more, or will take nothing more. `None` if it can take more now. The reader of a
    /// server waits for it, so that the server is slowed down instead of losing messages.
    fn room(&self) -> Option<BoxFuture<'static, ()>>;

    /// The proxies that the client's request has passed, as in the header `Proxy-Via`; none if it came directly.
    fn hops(&self) -> Option<&str>;

    /// Whether log messages and other notifications of this call may reach the client at all.
    fn relays(&self) -> bool;

    /// Asks the client. Dropping the future withdraws the question.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>>;

    /// Whether the client can be asked this in this call, in its revision of the protocol.
    fn supports(&self, question: &Question) -> bool;

    /// What guards the words of this call, in front of another call of the same client: a message of the server may be about
    /// either. Without guards, the other call's peer.
    fn guarding(&self, other: Arc<dyn Peer>) -> Arc<dyn Peer> {
        other
    }

    /// The same client while none of its calls is running. `None` if it cannot be reached then.
    fn between_calls(&self) -> Option<Arc<dyn Peer>>;

    /// Says when the client's session is over. `None` if the client has no session.
    fn gone(&self) -> Option<SessionEnd>;
}

impl dyn Peer + '_ {
    /// What decides which connection to a server the client uses.
    pub fn profile(&self) -> ClientProfile {
        ClientProfile { era: self.era(), abilities: self.abilities() }
    }
}

/// A request to the client of a call, by a server or a script: elicitation, sampling or roots.
#[derive(Clone, Debug)]
pub struct Question {
    pub method: String,
    pub params: Raw,
    /// How long the client may take to answer.
    pub answer_timeout: Duration,
    pub asker: Asker,
}

/// Who asks a question, and so who gets the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    Server,
    /// The proxy itself, for a script or its rules: also while a server already works on the call.
    Proxy,
    /// The proxy, for the log-in without which the call is not sent.
    LogIn,
}

impl Question {
    /// Whether a client with these abilities can be asked this question of a script: a form, an address or its folders.
    pub fn is_within(&self, abilities: Abilities) -> bool {
        let mode = || Object::of(&self.params).ok().and_then(|params| params.string("mode"));
        match self.method.as_str() {
            "elicitation/create" if mode().as_deref() == Some("url") => abilities.url,
            "elicitation/create" => abilities.form,
            "roots/list" => abilities.roots,
            _ => false,
        }
    }

    /// The question as text, for records and `proxy calls`; the method if there is no message.
    pub fn text(&self) -> String {
        let message = Object::of(&self.params).ok().and_then(|params| params.string("message"));
        message.unwrap_or_else(|| self.method.clone())
    }
}
