//! The task that owns a server's main connection: connects, follows its lists, and reconnects with backoff.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::holds::Holds;
use super::lists::current_lists::ListError;
use super::lists::variants::LegState;
use super::log_in_changes::{LogInChanges, relist_on_change};
use super::publisher::{Publisher, RESTARTING, first_view};
use super::relist::{self, ConnectionEnd};
use super::rest;
use super::restart::RestartOutcome;
use super::resubscribe::Resubscriber;
use super::supervised::{ConnectionState, SupervisedServer};
use crate::connection::{
    ConnectError, Connection, ConnectionPurpose, Connector, Environment, Leg, ServerMemory, SoleClient, StartPolicy,
};
use crate::transport::{LogIn, Signals, Transport};
use proxy_base::backoff::Backoff;
use proxy_config::ServerConfig;
use proxy_model::{Abilities, BackendKind, Era, LoginNeeded, Status};

/// The delay before the first reconnect; doubles up to `restart.maxBackoff`.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// The shortest time between two attempts if calls demand a reconnect.
const MIN_ATTEMPT_INTERVAL: Duration = Duration::from_secs(1);

/// Completes with the reason when a launched process ends before the handshake.
async fn closed(launched: Option<&Transport>) -> String {
    match launched {
        Some(transport) => transport.closed().await,
        None => std::future::pending().await,
    }
}

/// Starts the supervision of a server. Returns at once.
pub(crate) fn supervise(name: &str, config: &ServerConfig, environment: &Environment) -> Arc<SupervisedServer> {
    let name: Arc<str> = name.into();
    let cached = environment.cache.load(&name, config).unwrap_or_default();
    let (known, knows_lists) = cached.clone().or_approved(&name, config, environment.lock.get().as_deref());
    let mut view = first_view(&name, config, environment, &known);
    let policy = environment.start;
    let rest = policy.rest(config);
    let rests = policy.is_lazy(config) && knows_lists;
    match policy {
        StartPolicy::Configured if rests => view.status = Status::Resting,
        // The cached lists are from another environment, for example another account, so the server is started.
        StartPolicy::Unknown if !rests => view.status = Status::Starting,
        _ => {}
    }
    let holds = Holds::new(rest, rests);
    let (state, receiver) = watch::channel(ConnectionState::default());
    let connector = Arc::new(Connector::new(&name, config, environment));
    let server = Arc::new(SupervisedServer::new(&name, config, view, receiver, &connector, cached, holds));
    let mut publisher = Publisher::new(&name, config, environment, &server.view, &connector.last_words);
    let has_rested = rests && rest.is_some();
    publisher.keeps_lists = has_rested;
    let supervisor = Supervisor {
        environment: environment.clone(),
        server: Arc::clone(&server),
        state,
        memory: ServerMemory::default(),
        connector,
        publisher,
        log_in_changes: LogInChanges::default(),
        announced_login: None,
        backoff: Backoff::new(FIRST_DELAY, config.max_backoff),
        has_started: false,
        has_rested,
        was_needed: false,
    };
    tokio::spawn(supervisor.run());
    server
}

struct Supervisor {
    environment: Environment,
    server: Arc<SupervisedServer>,
    state: watch::Sender<ConnectionState>,
    memory: ServerMemory,
    connector: Arc<Connector>,
    publisher: Publisher,
    log_in_changes: LogInChanges,
    /// The log-in that the log has asked for last.
    announced_login: Option<LoginNeeded>,
    backoff: Backoff,
    /// Whether the first attempt has begun.
    has_started: bool,
    /// Whether the server rests as a rule: it has done so before, or it was started for its lists only.
    has_rested: bool,
    /// Whether the server has been needed since it was last connected or rested.
    was_needed: bool,
}

/// How the use of a connection ended.
enum ServeEnd {
    Ended(ConnectionEnd),
    /// The user restarts the server.
    Restart,
    /// Nothing needs the server.
    Rest,
}

/// Completes with the next change of a log-in, or of its account. It is followed from before an attempt, so that a change
/// during the attempt is not missed.
type LogInChange<'a> = Shared<BoxFuture<'a, ()>>;

/// What a supervisor is doing.
enum Phase<'a> {
    /// Resting until a call needs the server.
    Waiting,
    /// Waiting for a start slot.
    Starting,
    Connecting,
    Serving(Arc<Connection>, LogInChange<'a>, LogInChange<'a>),
    NeedsLogin(LoginNeeded, LogInChange<'a>),
    BackingOff,
}

impl Phase<'_> {
    /// Whether a restart interrupts this phase from outside. In earlier phases, the first attempt serves as the restart; a
    /// connection in use is ended by the code that serves it.
    fn is_restartable(&self) -> bool {
        matches!(self, Phase::Connecting | Phase::NeedsLogin(..) | Phase::BackingOff)
    }

    fn is_serving(&self) -> bool {
        matches!(self, Phase::Serving(..))
    }
}

impl Supervisor {
    async fn run(mut self) {
        let (server, log_in) = (Arc::clone(&self.server), Arc::clone(&self.connector.log_in));
        // Cancelled even if this task panics, so that `Handle::stop` does not wait forever.
        let _stopped = server.stopped.clone().drop_guard();
        let mut phase = Phase::Waiting;
        loop {
            let (is_restartable, is_serving) = (phase.is_restartable(), phase.is_serving());
            phase = tokio::select! {
                biased;
                () = server.stop.cancelled(), if !is_serving => return,
                () = server.restart_wanted.notified(), if is_restartable => self.restarting().await,
                next = self.next_phase(phase, &log_in) => next,
            };
        }
    }

    /// Goes through a phase to its end, and says which comes next.
    async fn next_phase<'a>(&mut self, phase: Phase<'a>, log_in: &'a LogIn) -> Phase<'a> {
        match phase {
            Phase::Waiting => self.wait_until_needed(log_in).await,
            Phase::Starting => {
                tracing::debug!(target: "server_state", server = %self.server.name, "starting");
                // Until a server may start, it is not missed.
                let slot = self.connector.start_slot().await;
                self.publisher.begin_start(slot);
                self.has_started = true;
                Phase::Connecting
            }
            Phase::Connecting => self.attempt(log_in).await,
            Phase::Serving(connection, changed, replaced) => self.serve_to_the_end(connection, changed, replaced).await,
            Phase::NeedsLogin(needed, changed) => {
                if self.has_started {
                    self.publisher.save_login(&needed).await;
                }
                self.wait_for_log_in(&needed, changed).await;
                self.backoff.reset();
                self.next_attempt()
            }
            Phase::BackingOff => {
                let delay = self.backoff.next_delay();
                let withdrawal = self.publisher.withdraw_lists_after_grace(&self.connector);
                tokio::select! {
                    () = self.pause(delay) => Phase::Connecting,
                    never = withdrawal => match never {},
                }
            }
        }
    }

    async fn wait_until_needed<'a>(&mut self, log_in: &'a LogIn) -> Phase<'a> {
        self.server.needed().await;
        self.was_needed = true;
        if self.has_started && !self.server.view.load().error.is_empty() {
            // It could not be reached the last time either.
            tokio::time::sleep_until(self.earliest_attempt(MIN_ATTEMPT_INTERVAL)).await;
        }
        self.publisher.start_grace();
        let changed = log_in.changed().boxed().shared();
        match self.publisher.known_login(log_in).await {
            Some(needed) => Phase::NeedsLogin(needed, changed),
            None => Phase::Starting,
        }
    }

    /// The first attempt waits for its turn, later ones do so by themselves.
    fn next_attempt<'a>(&self) -> Phase<'a> {
        if self.has_started { Phase::Connecting } else { Phase::Starting }
    }

    /// Tries to connect.
    async fn attempt<'a>(&mut self, log_in: &'a LogIn) -> Phase<'a> {
        let changed = log_in.changed().boxed().shared();
        let replaced = log_in.replaced().boxed().shared();
        log_in.forget_need();
        let withdrawal = self.publisher.withdraw_lists_after_grace(&self.connector);
        let unfinished = self.publisher.note_unfinished_start();
        let slow = self.publisher.note_slow_start();
        let following = join(changed.clone(), replaced.clone()).then(|_| std::future::pending());
        let outcome = tokio::select! {
            biased;
            outcome = self.connect() => outcome,
            never = following => match never {},
            never = withdrawal => match never {},
            never = unfinished => match never {},
            never = slow => match never {},
        };
        match outcome {
            Ok(connection) => Phase::Serving(connection, changed, replaced),
            Err(ConnectError::LoginNeeded(needed)) => Phase::NeedsLogin(needed, changed),
            Err(error) => {
                let reason = error.to_string();
                self.publisher.save_failure(&reason).await;
                let rests = self.has_rested && !self.server.is_needed();
                if rests {
                    self.server.holds.rest(|| self.server.disconnect(&self.state));
                }
                self.failed(&reason);
                if rests { Phase::Waiting } else { Phase::BackingOff }
            }
        }
    }

    /// Uses a connection until it ends, somebody restarts the server, or the proxy stops.
    async fn serve_to_the_end<'a>(
        &mut self,
        connection: Arc<Connection>,
        changed: LogInChange<'a>,
        replaced: LogInChange<'a>,
    ) -> Phase<'a> {
        self.announced_login = None;
        let stop = self.server.stop.clone();
        let end = self.serve(connection, replaced, &stop).await;
        if stop.is_cancelled() {
            // Nothing comes next: `run` ends here.
            return Phase::BackingOff;
        }
        let end = match end {
            ServeEnd::Ended(end) => end,
            ServeEnd::Restart => return self.restarting().await,
            ServeEnd::Rest => {
                self.backoff.reset();
                self.rests_from_now_on();
                self.publisher.publish_resting(None);
                tracing::info!(target: "server_state", server = %self.server.name, "rests until it is needed");
                return Phase::Waiting;
            }
        };
        // A server that completes the handshake and then fails has not worked.
        if end.was_listed {
            self.backoff.reset();
        }
        match end.cause {
            ListError::LoginNeeded(needed) => Phase::NeedsLogin(needed, changed),
            ListError::Failed(reason) => {
                let server = &self.server;
                let disconnect = || server.disconnect_unless_needed(&self.state);
                let rests = self.has_rested && server.holds.rest_unless_held(disconnect);
                self.lost(&reason, end.was_listed);
                if rests { Phase::Waiting } else { Phase::BackingOff }
            }
        }
    }

    /// Waits until there is another log-in. Nothing is tried until then, and calls are told what to do.
    async fn wait_for_log_in(&mut self, needed: &LoginNeeded, changed: impl Future<Output = ()>) {
        self.publisher.publish_login(needed);
        self.state.send_modify(|state| {
            state.login_needed = Some(needed.clone());
            state.settle(RestartOutcome::LoginNeeded);
        });
        if self.announced_login.as_ref() != Some(needed) {
            // For an account of one person this is no fault: the person is asked.
            match self.connector.server.personal() {
                Some(_) => tracing::debug!(server = %self.server.name, "{needed}"),
                None => tracing::warn!(server = %self.server.name, "{needed}"),
            }
            self.announced_login = Some(needed.clone());
        }
        // Their requests would be refused as well.
        let side_connections = Arc::clone(&self.server.side_connections);
        tokio::spawn(async move { side_connections.close_all().await });
        self.log_in_changes.take_up(changed).await;
        tracing::debug!(target: "server_state", server = %self.server.name, "the log-in has changed");
        // Calls wait for the outcome of the next attempt.
        self.state.send_modify(|state| state.login_needed = None);
    }

    /// Makes a connection. A process waits for its slot among those that are starting; `startTimeout` begins afterwards.
    async fn connect(&mut self) -> Result<Arc<Connection>, ConnectError> {
        if self.publisher.start_slot.is_none() {
            self.publisher.start_slot = self.connector.start_slot().await;
        }
        self.publisher.last_attempt = Some(Instant::now());
        let signals = Arc::new(Signals::new(&self.server.subscriptions));
        let launched = self.connector.launch(&signals, self.publisher.start_slot.as_ref(), false).await?;
        let known = self.publisher.known().await;
        let client = tokio::select! {
            client = self.environment.audience.sole_client() => client,
            reason = closed(launched.as_ref()) => return Err(reason.into()),
        };
        let era = Publisher::main_era(&known, client.as_ref().map(|client| client.profile.era));
        self.publisher.asked = Some(era);
        let purpose = self.purpose(client, Leg::Either(era), signals);
        self.connector.connect(launched, &mut self.memory, purpose).await
    }

    /// What the main connection is made for: the only client, or else clients with sessions that cannot be asked anything.
    fn purpose(&self, client: Option<SoleClient>, leg: Leg, signals: Arc<Signals>) -> ConnectionPurpose {
        // With `scope: session` the main connection belongs to no client.
        let own = client.as_ref().filter(|_| !self.server.session_scoped);
        let reachable = own.filter(|client| client.profile.era == Era::Session && client.peer.is_some());
        ConnectionPurpose {
            declared: match (own, reachable) {
                _ if self.server.shares_capabilities() => Abilities::DECLARED_FOR_ALL,
                (_, Some(client)) => client.profile.abilities,
                (Some(client), None) => client.profile.abilities.shared(),
                (None, _) => Abilities::NONE,
            },
            leg,
            signals,
            sole_client: reachable.and_then(|client| client.peer.clone()),
            earlier: None,
            is_trial: false,
        }
    }

    /// From now on, the server rests rather than being restarted when it is not needed.
    fn rests_from_now_on(&mut self) {
        self.has_rested = true;
        self.publisher.keeps_lists = true;
    }

    /// Uses a connection until it ends, somebody restarts the server, or nothing needs it any more.
    async fn serve(
        &mut self,
        connection: Arc<Connection>,
        replaced: LogInChange<'_>,
        stop: &CancellationToken,
    ) -> ServeEnd {
        let server = Arc::clone(&self.server);
        server.breaker.connected();
        // One client uses a process in one way for everything.
        let is_process = server.view.load().kind == BackendKind::Stdio;
        if connection.is_stateless() || (is_process && self.environment.audience.is_one()) {
            server.variants.main_serves_all();
        }
        let has_leg = matches!(server.variants.stateless_leg(), LegState::Cached(true) | LegState::Known(true));
        if !connection.is_stateless() && !has_leg {
            server.variants.forget_sets();
        }
        self.state.send_modify(|state| {
            state.connection = Some(Arc::clone(&connection));
            state.connections += 1;
            state.starts += u64::from(std::mem::take(&mut self.was_needed));
            state.is_listed = false;
        });
        let listener = tokio::spawn(Arc::clone(&connection).listen());
        let resubscriber = Resubscriber::new(&server.name, server.limits.idle, &server.subscriptions, &connection);
        let resubscriber = tokio::spawn(resubscriber.run());
        let log_in = Arc::clone(&self.connector.log_in);
        let is_personal = self.connector.server.personal().is_some();
        let log_in_follower = (log_in.has_credentials() && !is_personal).then(|| {
            let signals = Arc::clone(connection.signals());
            tokio::spawn(relist_on_change(Arc::clone(&log_in), signals))
        });
        // What the server sends for one account of a person ends with it.
        let other_account = async {
            if !is_personal {
                return std::future::pending().await;
            }
            self.log_in_changes.take_up(replaced).await;
        };
        let missed = tokio::spawn(Arc::clone(&server).prepare_missed());
        let end = tokio::select! {
            end = relist::follow_lists(&server, &mut self.publisher, &connection, &self.state, stop) => {
                ServeEnd::Ended(end)
            }
            () = server.restart_wanted.notified() => ServeEnd::Restart,
            () = other_account => ServeEnd::Restart,
            () = rest::unneeded(&server, &connection, &self.state) => ServeEnd::Rest,
        };
        if server.holds.settings().is_some_and(|rest| rest.lazy) && self.state.borrow().is_listed {
            self.rests_from_now_on();
        }
        for task in [Some(listener), Some(resubscriber), Some(missed), log_in_follower].into_iter().flatten() {
            task.abort();
            let _ = task.await;
        }
        self.state.send_modify(|state| state.connection = None);
        server.holds.tasks.lost();
        match end {
            ServeEnd::Ended(_) => connection.stop().await,
            ServeEnd::Restart => connection.stop_for_restart().await,
            ServeEnd::Rest => {
                let memory = rest::memory_of(server.processes()).await;
                connection.stop().await;
                server.holds.note_stop(memory);
            }
        }
        end
    }

    /// When the next attempt may begin, if attempts are this far apart.
    fn earliest_attempt(&self, interval: Duration) -> Instant {
        self.publisher.last_attempt.unwrap_or_else(Instant::now) + interval
    }

    /// Waits before the next attempt. A call that needs the server cuts the delay short.
    async fn pause(&self, delay: Duration) {
        let earliest = self.earliest_attempt(MIN_ATTEMPT_INTERVAL.min(delay));
        let next = Instant::now() + delay;
        let demanded = async {
            self.server.reconnect_now.notified().await;
            tokio::time::sleep_until(earliest).await;
        };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = demanded => {}
        }
    }

    /// Somebody restarts the server, which is not a failure. Calls wait for the next connection.
    async fn restarting<'a>(&mut self) -> Phase<'a> {
        tracing::info!(target: "server_state", server = %self.server.name, "restarting");
        self.backoff.reset();
        self.server.breaker.restarted();
        self.publisher.publish_restarting();
        self.state.send_modify(|state| {
            state.error = RESTARTING.to_owned();
            state.login_needed = None;
            state.restarts += 1;
            state.restart_outcome = None;
        });
        self.server.side_connections.restart().await;
        self.next_attempt()
    }

    /// The connection was lost. This does not count as a failed attempt, so calls keep waiting for the next connection.
    fn lost(&mut self, reason: &str, was_listed: bool) {
        if was_listed {
            self.publisher.start_grace();
        }
        self.publish_down(reason);
        self.state.send_modify(|state| {
            state.error = reason.to_owned();
            state.settle(RestartOutcome::Failed);
        });
        tracing::warn!(server = %self.server.name, said = self.last_words(reason), "connection lost: {reason}");
    }

    /// Publishes that the server cannot be reached. One that rests as a rule is tried again when it is needed.
    fn publish_down(&mut self, reason: &str) {
        if self.server.rests() {
            self.publisher.publish_resting(Some(reason));
        } else {
            self.publisher.publish_down(reason);
        }
    }

    /// An attempt to connect failed.
    fn failed(&mut self, reason: &str) {
        self.publish_down(reason);
        self.state.send_modify(|state| {
            state.failures += 1;
            state.error = reason.to_owned();
            state.settle(RestartOutcome::Failed);
        });
        // What the HTTP client says begins so, too.
        let what = reason.strip_prefix("cannot connect: ").unwrap_or(reason);
        tracing::warn!(server = %self.server.name, said = self.last_words(reason), "cannot connect: {what}");
    }

    /// What the published error has beyond the reason: what the server wrote last. On one line.
    fn last_words(&self, reason: &str) -> Option<String> {
        const MAX_CHARACTERS: usize = 400;
        let view = self.server.view.load();
        let said = view.error.strip_prefix(reason)?.trim_start_matches("; ");
        let said = said.lines().map(str::trim).collect::<Vec<_>>().join(" | ");
        (!said.is_empty()).then(|| said.chars().take(MAX_CHARACTERS).collect())
    }
}
