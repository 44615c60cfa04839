//! What both eras share: who asks, and what is asked.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::changes::Seen;
use super::links::Links;
use super::log_level::Level;
use super::peer::ClientPeer;
use super::questions::Questions;
use super::sink::MessageSink;
use super::subscriptions::Subscriptions;
use crate::backend::Peer;
use crate::calls::Caller;
use crate::gateway::SurfaceHandle;
use crate::json::{Raw, RawRef};
use crate::model::{Abilities, ClientInfo, ItemKind, Owner, Principal, SurfaceKey};
use crate::server::Server;
use crate::server::front::session::Handshake;
use crate::server::methods::tasks::is_task_method;
use crate::surface::Surface;
use crate::wire::{Request, Revision, RpcError};

/// What is known of the one that makes a request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) revision: Revision,
    pub(crate) principal: Principal,
    pub(crate) owner: Owner,
    /// Its look at what is published.
    pub(crate) view: Arc<SurfaceHandle>,
    /// What a client of a session last saw of the lists.
    pub(crate) seen: Option<Arc<Seen>>,
    pub(crate) abilities: Abilities,
    /// What it says of itself: in its handshake, or with every request.
    pub(crate) info: Arc<ClientInfo>,
    /// Those headers of this request that scripts may see.
    pub(crate) headers: Arc<[(String, String)]>,
    pub(crate) level: Level,
    /// The way to ask a session-based client.
    pub(crate) questions: Option<Arc<Questions>>,
    /// What a client of a session follows.
    pub(crate) subscriptions: Option<Subscriptions>,
    /// Ends when its session has.
    pub(crate) gone: Option<CancellationToken>,
    /// The links it was given; none if it cannot be told from others.
    pub(crate) links: Option<Arc<Links>>,
}

/// What such a visitor sees.
pub(crate) fn view_of(principal: &Principal, info: &Arc<ClientInfo>) -> Arc<SurfaceHandle> {
    Arc::new(SurfaceHandle::of(SurfaceKey { principal: principal.clone(), client: Arc::clone(info) }))
}

impl Client {
    /// The client of a session that begins with this handshake.
    pub(crate) fn of_session(handshake: Handshake, principal: Principal) -> Self {
        let info = Arc::new(handshake.client);
        Client {
            revision: handshake.revision,
            view: view_of(&principal, &info),
            seen: Some(Arc::default()),
            principal,
            owner: Owner::new_session(),
            abilities: handshake.abilities,
            info,
            headers: Arc::default(),
            level: Level::new_session(),
            questions: Some(Arc::default()),
            subscriptions: None,
            gone: Some(CancellationToken::new()),
            links: Some(Arc::default()),
        }
    }

    /// The same, where what it did not ask for is told to it there.
    pub(crate) fn told_at(self, sink: MessageSink) -> Self {
        Client { subscriptions: Some(Subscriptions::new(sink)), ..self }
    }

    /// The capabilities that a stateless client declares with every request.
    pub(crate) fn declared(&self) -> Option<&RawRef> {
        self.info.capabilities.as_deref().filter(|_| self.revision.is_stateless())
    }

    /// Its session has ended: nobody can be asked or told anything.
    pub(crate) fn end(&self) {
        if let Some(questions) = &self.questions {
            questions.end();
        }
        if let Some(subscriptions) = &self.subscriptions {
            subscriptions.clear();
        }
        if let Some(gone) = &self.gone {
            gone.cancel();
        }
    }
}

/// A request being answered: what was asked, by whom, how it is cancelled, and where news of it goes.
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Request,
    pub(crate) client: &'a Arc<Client>,
    pub(crate) cancel: CancellationToken,
    pub(crate) sink: &'a MessageSink,
}

/// The outcome of a request; none if it was cancelled, because then nobody waits for one.
pub(crate) type Outcome = Option<Result<Raw, RpcError>>;

impl Server {
    /// What this client sees.
    pub(crate) async fn surface(&self, client: &Client) -> Result<Arc<Surface>, RpcError> {
        let surface = self.gateway.surface(&client.view).await.map_err(|error| {
            tracing::error!("{error}");
            RpcError::internal("the proxy's session script failed; its log says why")
        })?;
        if let Some(seen) = &client.seen {
            seen.first(&surface);
        }
        Ok(surface)
    }

    /// The methods that both eras have.
    pub(crate) async fn answer_common(&self, asked: Asked<'_>) -> Outcome {
        // A future is as large as the largest of its branches, and it is moved about: the rarer ones are kept apart.
        let listed = |kind| self.list(kind, &asked);
        match asked.request.method.as_str() {
            "tools/list" => Some(Box::pin(listed(ItemKind::Tool)).await),
            "resources/list" => Some(Box::pin(listed(ItemKind::Resource)).await),
            "resources/templates/list" => Some(Box::pin(listed(ItemKind::ResourceTemplate)).await),
            "prompts/list" => Some(Box::pin(listed(ItemKind::Prompt)).await),
            "tools/call" => self.use_item(ItemKind::Tool, asked).await,
            "resources/read" => Box::pin(self.use_item(ItemKind::Resource, asked)).await,
            "prompts/get" => Box::pin(self.use_item(ItemKind::Prompt, asked)).await,
            "completion/complete" => Box::pin(self.complete(asked)).await,
            method if is_task_method(method, asked.client.revision) => Box::pin(self.about_task(asked)).await,
            _ => Box::pin(self.pass_on(asked)).await,
        }
    }
}

impl Client {
    pub(crate) fn caller(&self, cancel: CancellationToken, peer: Option<Arc<ClientPeer>>) -> Caller {
        Caller {
            principal: self.principal.clone(),
            client: Arc::clone(&self.info),
            headers: Arc::clone(&self.headers),
            admitted: false,
            cancel,
            peer: peer.map(|peer| peer as Arc<dyn Peer>),
            objects_only: !self.revision.is_stateless(),
            takes_rounds: self.revision.is_stateless(),
            takes_tasks: false,
            patient: false,
            past: None,
            policy: None,
        }
    }
}
