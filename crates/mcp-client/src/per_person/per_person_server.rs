//! A server with a separate connection for each person.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::account::PersonalAccount;
use super::account_call;
use super::person_server::PersonServer;
use crate::call::{
    Answer, Backend, BackendCall, CacheHint, CallError, ConnectedBackend, LocalBackend, MissingLists, Peer,
    PerPersonBackend, PersonBackend, Subscriber, Subscription, UpdateListener,
};
use crate::connection::Environment;
use crate::handle::ServerLoad;
use crate::supervision::per_person_view;
use proxy_config::ServerConfig;
use proxy_json::Raw;
use proxy_model::lock::ViewLock;
use proxy_model::{
    BackendView, CallerCredentials, ClientProfile, ItemKind, NEEDS_PERSON, NEEDS_SIGN_IN, Owner, PersonKey,
    ServerAddress, Status,
};

/// The maximum number of keys with a connection.
const MAX_PEOPLE: usize = 1000;
/// The maximum number of keys of one person: with several clients, scopes or rights.
const MAX_KEYS_OF_PERSON: usize = 8;
/// When the limit is reached, a connection whose session made no request for this long is closed to make room. The next
/// request opens it again.
const SPARE_TIMEOUT: Duration = Duration::from_secs(60);
/// A connection without a session is closed if no request used it for this long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The connections of all people to one server, by person. One person's key never reaches another person's connection.
#[derive(Debug)]
pub struct PerPersonServer {
    name: Arc<str>,
    config: ServerConfig,
    environment: Environment,
    credentials: Option<Arc<dyn CallerCredentials>>,
    /// The view without a person: no items.
    view: Arc<BackendView>,
    people: Mutex<HashMap<PersonKey, Arc<PersonServer>>>,
}

impl PerPersonServer {
    /// Does not connect until the first person calls.
    pub fn start(name: &str, config: &ServerConfig, environment: &Environment) -> Arc<Self> {
        let server = Arc::new(PerPersonServer {
            name: name.into(),
            config: config.clone(),
            environment: environment.clone(),
            credentials: environment.credentials.of_people(name, config),
            view: Arc::new(per_person_view(name, config, environment.audience.is_one())),
            people: Mutex::default(),
        });
        let weak = Arc::downgrade(&server);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
                let Some(server) = weak.upgrade() else { return };
                server.close_idle();
            }
        });
        server
    }

    /// The key of a person's connections: an account belongs to the person, whatever the token of the moment says else.
    fn key_of<'a>(&self, person: &'a PersonKey) -> &'a PersonKey {
        if self.config.personal().is_some() { person.person_alone() } else { person }
    }

    /// Why a caller has no connections.
    fn needs(&self) -> &'static str {
        if self.config.personal().is_some() { NEEDS_SIGN_IN } else { NEEDS_PERSON }
    }

    /// The connections of a person, opened if there are none.
    fn of(&self, person: &PersonKey) -> Result<Arc<PersonServer>, &'static str> {
        let person = self.key_of(person);
        let mut people = self.people.lock();
        if let Some(known) = people.get(person) {
            known.touch();
            return Ok(Arc::clone(known));
        }
        let credentials = self.credentials.as_ref().and_then(|all| all.of(person)).ok_or(self.needs())?;
        let own = people.keys().filter(|key| key.who() == person.who()).count();
        if own >= MAX_KEYS_OF_PERSON {
            let of_person = |key: &PersonKey| key.who() == person.who();
            close_spare(&mut people, of_person).ok_or("the caller is using it with too many tokens at once")?;
        } else if people.len() >= MAX_PEOPLE {
            close_spare(&mut people, |_| true).ok_or("too many people are using it at once")?;
        }
        let account = PersonalAccount::of(&self.name, &self.config, person, &credentials);
        let server = PersonServer::start(&self.name, &self.config, &self.environment, credentials, account);
        let server = Arc::new(server);
        people.insert(person.clone(), Arc::clone(&server));
        Ok(server)
    }

    /// The connections of the person who makes a request.
    fn caller(&self, person: Option<PersonKey>) -> Result<Arc<PersonServer>, CallError> {
        let opened = person.ok_or(self.needs()).and_then(|person| self.of(&person));
        let refused = |reason: &str| CallError::Refused { backend: Arc::clone(&self.name), reason: reason.to_owned() };
        opened.map_err(refused)
    }

    fn close_idle(&self) {
        self.people.lock().retain(|_, server| !is_unheld(server) || server.idle_time() < IDLE_TIMEOUT);
    }

    fn all(&self) -> Vec<Arc<PersonServer>> {
        self.people.lock().values().cloned().collect()
    }

    /// How many people have a connection.
    pub fn people(&self) -> usize {
        self.people.lock().len()
    }

    /// How many of them have to log in to their own account first; `None` if there are no such accounts.
    pub fn people_to_log_in(&self) -> Option<usize> {
        self.config.personal()?;
        Some(self.all().iter().filter(|server| server.handle().view().status == Status::Login).count())
    }

    /// How busy it is for all people together.
    pub fn load(&self) -> ServerLoad {
        let loads = self.all().into_iter().map(|server| server.handle().load());
        loads.fold(ServerLoad::default(), |sum, one| ServerLoad {
            running: sum.running + one.running,
            waiting: sum.waiting + one.waiting,
            breaker_open: sum.breaker_open || one.breaker_open,
        })
    }

    /// Makes all connections anew.
    pub async fn restart(&self) {
        futures::future::join_all(self.all().iter().map(|server| server.handle().restart())).await;
    }
}

/// Closes the connections of one key that is not in use, the longest unused one first: best one without a session.
fn close_spare(people: &mut HashMap<PersonKey, Arc<PersonServer>>, of: impl Fn(&PersonKey) -> bool) -> Option<()> {
    let spare = people.iter().filter(|(key, server)| {
        let idle = server.idle_time();
        of(key) && if is_unheld(server) { !idle.is_zero() } else { idle >= SPARE_TIMEOUT }
    });
    let oldest = spare.max_by_key(|(_, server)| (is_unheld(server), server.idle_time()))?.0.clone();
    people.remove(&oldest)?.handle().begin_stop();
    Some(())
}

/// Whether no session and no request of the person goes on.
fn is_unheld(server: &Arc<PersonServer>) -> bool {
    Arc::strong_count(server) == 1
}

impl Drop for PerPersonServer {
    /// Sessions may still hold connections, but nobody can use them any more.
    fn drop(&mut self) {
        for server in self.people.get_mut().values() {
            server.handle().begin_stop();
        }
    }
}

impl Backend for PerPersonServer {
    fn view(&self) -> Arc<BackendView> {
        Arc::clone(&self.view)
    }

    /// What one person sees is not locked.
    fn lock(&self, _: Option<&dyn Peer>) -> Option<Arc<ViewLock>> {
        None
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(async move {
            let person = self.caller(call.peer.as_ref().and_then(|peer| peer.person_key()))?;
            let outcome = match person.account() {
                Some(account) => account_call::call(&person, account, call).await,
                None => {
                    tokio::select! {
                        () = person.retry_refused() => {}
                        () = call.cancel.cancelled() => return Err(CallError::Cancelled),
                    }
                    person.handle().call(call).await
                }
            };
            person.touch();
            outcome
        })
    }

    fn call_blocking(&self, call: BackendCall, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        proxy_fiber::wait(self.call(call), runtime)
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn connected(&self) -> Option<&dyn ConnectedBackend> {
        Some(self)
    }

    fn local(&self) -> Option<&dyn LocalBackend> {
        None
    }

    fn per_person(&self) -> Option<&dyn PerPersonBackend> {
        Some(self)
    }
}

impl PerPersonBackend for PerPersonServer {
    fn known(&self, person: &PersonKey) -> Option<Arc<dyn PersonBackend>> {
        self.people.lock().get(self.key_of(person)).cloned().map(|server| server as Arc<dyn PersonBackend>)
    }

    fn open(&self, person: &PersonKey) -> Option<Arc<dyn PersonBackend>> {
        self.of(person).ok().map(|server| server as Arc<dyn PersonBackend>)
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        let all: Vec<_> = self.people.lock().drain().map(|(_, server)| server).collect();
        Box::pin(async move {
            futures::future::join_all(all.iter().map(|server| server.handle().stop())).await;
        })
    }
}

/// Requests without a person have no connection to use. Requests on behalf of a person go through their `PersonServer`.
impl ConnectedBackend for PerPersonServer {
    fn address(&self) -> Option<Arc<ServerAddress>> {
        self.config.transport.address().map(Arc::new)
    }

    fn subscribe<'a>(
        &'a self,
        uri: &'a str,
        subscriber: &'a Subscriber,
        listener: UpdateListener,
    ) -> BoxFuture<'a, Result<Subscription, CallError>> {
        Box::pin(async move {
            let person = self.caller(subscriber.person_key.clone())?;
            person.retry_refused().await;
            person.handle().subscribe(uri, subscriber, listener).await
        })
    }

    fn introduce(&self, _: ClientProfile) {}

    fn prepare<'a>(&'a self, _: ClientProfile, _: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn missing_lists(&self, _: ClientProfile) -> Option<MissingLists> {
        None
    }

    fn list_for<'a>(&'a self, _: ClientProfile, _: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn cache_hint(&self, _: ItemKind, _: ClientProfile) -> CacheHint {
        CacheHint::default()
    }

    fn refresh(&self, _: ItemKind, _: ClientProfile) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Dropped: a notification does not say whose it is.
    fn notify(&self, method: String, _: Option<Raw>) -> BoxFuture<'_, ()> {
        tracing::debug!(server = %self.name, method, "a notification was not delivered: {}", self.needs());
        Box::pin(std::future::ready(()))
    }

    fn roots_changed<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for server in self.all() {
                server.handle().roots_changed(owner).await;
            }
        })
    }
}
